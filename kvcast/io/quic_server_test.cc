#include "kvcast/io/quic_server.h"

#include <filesystem>

#include "kvcast/io/file.h"
#include "kvcast/io/quic_pair_test.h"

namespace kvcast {
namespace {

using QuicServerTest = QuicPairTest;

TEST_F(QuicServerTest, AsksClientsToComeAgainWhenManyAreAtTheDoor) {
  QuicServer::Options options;
  options.handshakes_before_retry = 0;
  ListenAndConnect(options, [](TestUser& server) { server.echoes = true; });
  EXPECT_EQ(server_->retries(), 1U);
  client_user_->Open(kClientBidi);
  client_user_->Send(kClientBidi, Bytes::Of("came again"), true);
  ASSERT_TRUE(Until([&] { return client_user_->streams[kClientBidi].fin; }));
}

// A machine has many addresses, and to each the kernel would answer from the one it likes best.
TEST_F(QuicServerTest, AnswersFromTheAddressThatItWasAskedAt) {
  for (const char* const everywhere : {"0.0.0.0:0", "[::]:0"}) {
    client_.reset();
    listen_ = *SocketAddress::Resolve(everywhere);
    Listen({}, [](TestUser& server) { server.echoes = true; });
    for (const char* const host : {"127.0.0.1:", "127.0.0.2:"}) {
      target_ = *SocketAddress::Resolve(host + std::to_string(server_->local().port()));
      Connect();
      client_user_->Open(kClientBidi);
      client_user_->Send(kClientBidi, Bytes::Of("hello"), true);
      ASSERT_TRUE(
          Until([&] { return client_user_->streams[kClientBidi].fin || client_user_->closed; }));
      EXPECT_EQ(client_user_->streams[kClientBidi].bytes, "hello") << everywhere << " " << host;
    }
  }
}

// Their first packets get here, and nothing else of them ever does.
TEST_F(QuicServerTest, LetsANewcomerInWhenHandshakesThatNobodyEndsHaveAllPlaces) {
  QuicServer::Options options;
  options.handshakes_max = 2;
  options.connection.handshake_timeout = std::chrono::hours(1);
  Listen(options);
  auto stranger = *UdpSocket::Bind(SocketAddress::Loopback(0));
  for (size_t begun = 1; begun <= options.handshakes_max; ++begun) {
    auto silent = *UdpSocket::Bind(SocketAddress::Loopback(0));
    const auto client = *QuicClient::Connect(
        *loop_, {silent.local(), "localhost"}, *ClientCredentials::Make(InsecureLoopbackOnly{}), {},
        [](QuicConnection&) { return std::make_unique<TestUser>(); });
    std::string first;
    ASSERT_TRUE(Until([&] {
      silent.Receive([&](const UdpPath&, std::span<const std::byte> packet) {
        first = first.empty() ? std::string(AsText(packet)) : first;
      });
      return !first.empty();
    }));
    stranger.Send(server_->local(), AsBytes(first), first.size());
    ASSERT_TRUE(Until([&] { return server_->handshakes() == begun; }));
  }
  target_ = server_->local();
  Connect();
  ASSERT_TRUE(Until([&] { return server_user_ != nullptr; }));
  EXPECT_EQ(server_->retries(), 1U);  // It has shown where it is before anybody goes for it.
  EXPECT_EQ(server_->handshakes(), 1U);
}

TEST_F(QuicServerTest, AsksNobodyToComeAgainWhileThereIsRoom) {
  ListenAndConnect();
  EXPECT_EQ(server_->retries(), 0U);
}

// A token is good for the address that it was given to, and while the server has its secret.
TEST_F(QuicServerTest, ATokenOfAnotherServerIsRefused) {
  const StatelessAnswers ours(Sha256::Of("ours"));
  const StatelessAnswers another(Sha256::Of("another"));
  const SocketAddress client = SocketAddress::Loopback(4000);
  ngtcp2_pkt_hd first{};
  first.version = NGTCP2_PROTO_VER_V1;
  first.dcid.datalen = first.scid.datalen = 8;
  std::array<uint8_t, 1500> packet{};
  const size_t bytes = ours.Retry(packet, client, first);
  ASSERT_GT(bytes, 0U);
  ngtcp2_pkt_hd retry{};
  ASSERT_GT(ngtcp2_pkt_decode_hd_long(&retry, packet.data(), bytes), 0);
  // The token stands between the header and a tag of 16 bytes.
  const size_t header = 7 + retry.dcid.datalen + retry.scid.datalen;
  ngtcp2_pkt_hd second = first;
  second.dcid = retry.scid;
  second.token = packet.data() + header;
  second.tokenlen = bytes - header - 16;
  EXPECT_TRUE(ours.CheckRetry(client, second).has_value());
  EXPECT_FALSE(another.CheckRetry(client, second).has_value());
  EXPECT_FALSE(ours.CheckRetry(SocketAddress::Loopback(4001), second).has_value());
  std::array<uint8_t, 1500> refusal{};
  EXPECT_GT(StatelessAnswers::InvalidToken(refusal, second), 0U);
}

// The client's packets reach a server that has forgotten it, at the same address.
TEST_F(QuicServerTest, AClientLearnsThatItsServerWasRestarted) {
  QuicServer::Options options;
  options.secret = ServersOwn().SecretFor("test");
  ListenAndConnect(options);
  listen_ = server_->local();
  server_.reset();
  server_user_ = nullptr;
  Listen(options);
  client_user_->Open(kClientBidi);
  client_user_->Send(kClientBidi, Bytes::Of("do you know me?"), true);
  ASSERT_TRUE(Until([&] { return client_user_->closed.has_value(); }));
  EXPECT_NE(client_user_->closed->second.find("was restarted"), std::string::npos)
      << client_user_->closed->second;
  EXPECT_GT(server_->resets(), 0U);
}

// All that comes from it are keep-alives, of which none is as large as other packets.
TEST_F(QuicServerTest, AClientThatSaysNothingLearnsOfItToo) {
  QuicServer::Options options;
  options.connection.keep_alive = std::chrono::milliseconds(50);
  options.connection.idle_timeout = kPatience;
  options.secret = ServersOwn().SecretFor("test");
  ListenAndConnect(options);
  const Instant quiet = Now() + std::chrono::milliseconds(500);  // Nothing else is under way then.
  ASSERT_TRUE(Until([&] { return Now() > quiet; }));
  listen_ = server_->local();
  server_.reset();
  server_user_ = nullptr;
  Listen(options);
  ASSERT_TRUE(Until([&] { return client_user_->closed.has_value(); }));
  EXPECT_NE(client_user_->closed->second.find("was restarted"), std::string::npos)
      << client_user_->closed->second;
}

TEST_F(QuicServerTest, AServerWithAnotherSecretCannotEndAConnection) {
  QuicServer::Options options;
  options.connection.keep_alive = std::chrono::milliseconds(50);
  options.connection.idle_timeout = std::chrono::milliseconds(500);
  options.secret = Sha256::Of("one");
  ListenAndConnect(options);
  listen_ = server_->local();
  server_.reset();
  options.secret = Sha256::Of("another");
  Listen(options);
  ASSERT_TRUE(Until([&] { return client_user_->closed.has_value(); }));
  EXPECT_GT(server_->resets(), 0U);
  EXPECT_EQ(client_user_->closed->second.find("was restarted"), std::string::npos)
      << client_user_->closed->second;
}

TEST_F(QuicServerTest, ResetsAreSmallerThanWhatTheyAnswer) {
  const StatelessAnswers answers(Sha256::Of("secret"));
  const std::array<uint8_t, kConnectionIdBytes> id{1, 2, 3};
  std::array<uint8_t, 1500> packet{};
  for (size_t received = 0; received < 100; ++received) {
    const size_t bytes = answers.Reset(packet, id, received);
    EXPECT_TRUE(bytes < received || bytes == 0) << received;
    EXPECT_EQ(bytes > 0, received > 21) << received;
  }
}

TEST_F(QuicServerTest, NoMoreResetsThanAllowed) {
  QuicServer::Options options;
  options.resets_per_second = 3;
  Listen(options);
  auto stranger = *UdpSocket::Bind(SocketAddress::Loopback(0));
  const std::string packet = "\x40" + std::string(99, 'x');  // As if for some connection.
  for (int i = 0; i < 20; ++i) {
    stranger.Send(server_->local(), AsBytes(packet), packet.size());
  }
  size_t answers = 0;
  ASSERT_TRUE(Until([&] {
    while (stranger.Receive([&](const UdpPath&, std::span<const std::byte>) { ++answers; })) {
    }
    return answers >= 3;
  }));
  Connect();  // The server has read all of them when it gets to this.
  ASSERT_TRUE(Until([&] { return server_user_ != nullptr; }));
  // It takes twenty packets no two seconds to be read.
  EXPECT_LE(server_->resets(), 6U);
}

TEST_F(QuicServerTest, AnotherVersionOfQuicIsToldWhichOneIsSpoken) {
  Listen();
  auto stranger = *UdpSocket::Bind(SocketAddress::Loopback(0));
  std::string packet(
      "\xc0\x0a\x0a\x0a\x0a\x08"
      "12345678"
      "\x04"
      "abcd",
      19);
  packet.resize(1200);
  stranger.Send(server_->local(), AsBytes(packet), packet.size());
  std::string answer;
  ASSERT_TRUE(Until([&] {
    stranger.Receive(
        [&](const UdpPath&, std::span<const std::byte> datagram) { answer = AsText(datagram); });
    return !answer.empty();
  }));
  // Version 0, both ids the other way round, and version 1.
  EXPECT_EQ(answer.substr(1), std::string("\0\0\0\0\x04"
                                          "abcd"
                                          "\x08"
                                          "12345678"
                                          "\0\0\0\1",
                                          22));
  EXPECT_EQ(server_->connections(), 0U);
}

TEST_F(QuicServerTest, NobodyAtTheAddressIsNoticedAtOnce) {
  Listen();
  listen_ = server_->local();
  server_.reset();
  QuicOptions patient;
  patient.handshake_timeout = std::chrono::hours(1);
  const auto client = *QuicClient::Connect(*loop_, {listen_, "localhost"},
                                           *ClientCredentials::Make(InsecureLoopbackOnly{}),
                                           patient, [this](QuicConnection& connection) {
                                             auto user = std::make_unique<TestUser>();
                                             user->connection = &connection;
                                             client_user_ = user.get();
                                             return user;
                                           });
  ASSERT_TRUE(Until([&] { return client_user_->closed.has_value(); }));
  EXPECT_EQ(client_user_->closed->second, "Nobody listens at " + listen_.ToString() + ".");
}

TEST_F(QuicServerTest, AServerThatWasKilledIsNoticedWithoutWaitingForSilence) {
  QuicServer::Options options;
  options.connection.idle_timeout = std::chrono::hours(1);
  options.connection.keep_alive = std::chrono::milliseconds(50);
  ListenAndConnect(options);
  const std::string address = server_->local().ToString();
  server_.reset();  // Without a word, as when it is killed.
  ASSERT_TRUE(Until([&] { return client_user_->closed.has_value(); }));
  EXPECT_EQ(client_user_->closed->second, "Nobody listens at " + address + " any more.");
  ASSERT_TRUE(Until([&] { return client_->gone(); }));
}

TEST_F(QuicServerTest, BothEndsLeaveALogWhereOneIsWanted) {
  QuicServer::Options options;
  options.connection.qlog_directory = scratch_->path();
  ListenAndConnect(options);
  client_.reset();
  server_.reset();
  std::map<std::string, std::string> logs;
  for (const auto& entry : std::filesystem::directory_iterator(scratch_->path())) {
    if (entry.path().extension() == ".sqlog") {
      const std::string name = entry.path().stem();
      logs[name.substr(name.find('-'))] = *ReadFile(entry.path(), 1 << 20);
    }
  }
  ASSERT_EQ(logs.size(), 2U);
  for (const char* const end : {"-client", "-server"}) {
    EXPECT_NE(logs[end].find("packet_sent"), std::string::npos) << logs[end];
  }
}

TEST(QlogFile, EndsWhereItMay) {
  const ScratchDirectory scratch = *ScratchDirectory::Make();
  {
    const auto log = QlogFile::Make(scratch / "log", 10);
    ASSERT_NE(log, nullptr);
    log->Write("12345", 5);
    log->Write("123456", 6);
    log->Write("1", 1);
    EXPECT_EQ(QlogFile::Make(scratch / "log", 10), nullptr);  // Never over another's.
  }
  EXPECT_EQ(*ReadFile(scratch / "log", 100), "12345");
}

}  // namespace
}  // namespace kvcast
