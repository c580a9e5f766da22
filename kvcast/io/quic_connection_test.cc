#include <filesystem>

#include "kvcast/io/file.h"
#include "kvcast/io/quic_pair_test.h"

namespace kvcast {
namespace {

using QuicConnectionTest = QuicPairTest;

TEST_F(QuicConnectionTest, TheServersCloseArrivesWithItsCodeAndReason) {
  ListenAndConnect();
  server_user_->Act(moqt::CloseConnection{0x10, "going home"});
  ASSERT_TRUE(Until([&] { return client_user_->closed.has_value(); }));
  EXPECT_EQ(client_user_->closed->first, 0x10U);
  EXPECT_EQ(client_user_->closed->second, "going home");
  EXPECT_EQ(server_user_->closed->first, 0x10U);
  // And nothing is left of it.
  ASSERT_TRUE(Until([&] { return server_->connections() == 0 && client_->gone(); }));
}

// As when an address translator on the way gives the client another port.
TEST_F(QuicConnectionTest, TheServersCloseFollowsAClientThatHasMoved) {
  Listen();
  Impair({});
  Connect();
  ASSERT_TRUE(Until([&] { return server_user_ != nullptr; }));
  server_user_->echoes = true;
  // Until the answer has come, the handshake may not be over, or the move not noticed.
  const auto ask = [&](moqt::StreamId stream) {
    client_user_->Open(stream);
    client_user_->Send(stream, Bytes::Of("hello"), true);
    return Until([&] { return client_user_->streams[stream].fin; });
  };
  ASSERT_TRUE(ask(0));
  const uint16_t port = proxy_->local().port();
  proxy_.reset();
  Impair({}, port);
  ASSERT_TRUE(ask(4));
  server_user_->Act(moqt::CloseConnection{0x10, "going home"});
  ASSERT_TRUE(Until([&] { return client_user_->closed.has_value(); }));
  EXPECT_EQ(client_user_->closed->second, "going home");
}

TEST_F(QuicConnectionTest, TheClientsCloseArrivesWithItsCodeAndReason) {
  ListenAndConnect();
  std::optional<std::pair<uint64_t, std::string>> heard;
  client_user_->Act(moqt::CloseConnection{0x3, "protocol"});
  ASSERT_TRUE(Until([&] {
    if (server_->connections() != 0 && server_user_->closed) {
      heard = server_user_->closed;
    }
    return heard.has_value();
  }));
  EXPECT_EQ(heard->first, 0x3U);
  EXPECT_EQ(heard->second, "protocol");
}

TEST_F(QuicConnectionTest, AnotherProtocolIsTurnedAway) {
  Listen();
  QuicOptions options;
  options.alpns = {"moqt-99"};
  Connect(options);
  ASSERT_TRUE(Until([&] { return client_user_->closed.has_value(); }));
  EXPECT_NE(client_user_->closed->second.find("does not speak moqt-99"), std::string::npos)
      << client_user_->closed->second;
  EXPECT_EQ(server_user_, nullptr);
  ASSERT_TRUE(Until([&] { return server_->connections() == 0; }));
  EXPECT_EQ(server_->handshakes(), 0U);
}

// Both ends speak several, and their sessions know which one it is to be.
TEST_F(QuicConnectionTest, TheServersBestOfWhatTheClientOffersIsSpoken) {
  using Protocols = std::vector<std::string>;
  const std::pair<Protocols, std::string> offers[] = {{{"moqt-18"}, "moqt-18"},
                                                      {{"moqt-99"}, "moqt-99"},
                                                      {{"moqt-18", "moqt-99"}, "moqt-99"},
                                                      {{"moqt-97", "moqt-18"}, "moqt-18"}};
  QuicServer::Options both;
  both.connection.alpns = {"moqt-99", "moqt-18"};
  for (const auto& [offered, spoken] : offers) {
    server_user_ = client_user_ = nullptr;
    std::string agreed;
    Listen(both, [&](TestUser& user) {
      agreed = user.connection->alpn();
      user.echoes = true;
    });
    QuicOptions options;
    options.alpns = offered;
    Connect(options);
    EXPECT_EQ(client_user_ == nullptr, offered.size() > 1);
    ASSERT_TRUE(Until([&] { return server_user_ != nullptr && client_user_ != nullptr; }));
    EXPECT_EQ(agreed, spoken);
    EXPECT_EQ(client_user_->connection->alpn(), spoken);
    client_user_->Open(0);
    client_user_->Send(0, Bytes::Of("hello"), true);
    EXPECT_TRUE(Until([&] { return client_user_->streams[0].fin; }));
    EXPECT_EQ(client_user_->streams[0].bytes, "hello");
    client_.reset();
  }
}

TEST_F(QuicConnectionTest, AClientWhoseEveryOfferIsTurnedAwayHearsOfIt) {
  Listen();
  QuicOptions options;
  options.alpns = {"moqt-99", "moqt-97"};
  client_user_ = nullptr;
  Connect(options);
  ASSERT_TRUE(Until([&] { return client_user_ != nullptr && client_user_->closed; }));
  EXPECT_NE(client_user_->closed->second.find("does not speak moqt-99 or moqt-97"),
            std::string::npos)
      << client_user_->closed->second;
}

TEST_F(QuicConnectionTest, AServerWithAnotherCertificateThanThePinnedOneIsRefused) {
  Listen();
  client_ = *TryConnect(PinnedCertificate{Sha256::Of("another")}, {});
  ASSERT_TRUE(Until([&] { return client_user_->closed.has_value(); }));
  EXPECT_NE(client_user_->closed->second.find(ServersOwn().fingerprint().ToHex()),
            std::string::npos)
      << client_user_->closed->second;
  EXPECT_FALSE(client_->connection().ready());
  ASSERT_TRUE(Until([&] { return server_->connections() == 0; }));
}

TEST_F(QuicConnectionTest, ACertificateOfATrustedAuthorityIsTaken) {
  Listen();
  client_ = *TryConnect(
      TrustedAuthorities{scratch_->path() / ServerCredentials::kDevelopmentCertificate}, {});
  ASSERT_TRUE(Until([&] { return server_user_ != nullptr || client_user_->closed; }));
  EXPECT_FALSE(client_user_->closed.has_value()) << client_user_->closed->second;
}

TEST_F(QuicConnectionTest, ACertificateThatThisMachineDoesNotTrustIsRefused) {
  Listen();
  auto client = TryConnect(SystemTrust{}, {});
  if (!client.ok()) {
    EXPECT_EQ(client.error().code(), ErrorCode::kNotFound);  // It trusts nobody at all.
    return;
  }
  client_ = *std::move(client);
  ASSERT_TRUE(Until([&] { return client_user_->closed.has_value(); }));
  EXPECT_NE(client_user_->closed->second.find("not trusted"), std::string::npos)
      << client_user_->closed->second;
}

TEST_F(QuicConnectionTest, UncheckedCertificatesAreForLoopbackOnly) {
  Listen();
  client_ = *TryConnect(InsecureLoopbackOnly{}, {});
  ASSERT_TRUE(Until([&] { return server_user_ != nullptr; }));

  const auto elsewhere =
      QuicClient::Connect(*loop_, {*SocketAddress::Resolve("192.0.2.1:4433"), "example"},
                          *ClientCredentials::Make(InsecureLoopbackOnly{}), {},
                          [](QuicConnection&) { return std::make_unique<TestUser>(); });
  ASSERT_FALSE(elsewhere.ok());
  EXPECT_EQ(elsewhere.error().code(), ErrorCode::kInvalid);
}

TEST_F(QuicConnectionTest, SilenceEndsIt) {
  QuicServer::Options options;
  options.connection.idle_timeout = std::chrono::milliseconds(200);
  options.connection.keep_alive = Duration(0);
  Listen(options);
  bool server_heard = false;
  Connect(options.connection);
  ASSERT_TRUE(Until([&] {
    server_heard = server_heard || (server_user_ != nullptr && server_->connections() > 0 &&
                                    server_user_->closed.has_value());
    return server_heard && client_user_->closed.has_value();
  }));
  ASSERT_TRUE(Until([&] { return server_->connections() == 0 && client_->gone(); }));
}

TEST_F(QuicConnectionTest, KeepAlivesBreakTheSilence) {
  QuicServer::Options options;
  options.connection.idle_timeout = std::chrono::seconds(2);
  options.connection.keep_alive = std::chrono::milliseconds(200);
  ListenAndConnect(options);
  const Instant end = Now() + std::chrono::seconds(3);
  ASSERT_TRUE(Until([&] { return Now() > end; }));
  EXPECT_FALSE(client_user_->closed.has_value());
  EXPECT_FALSE(server_user_->closed.has_value());
}

TEST_F(QuicConnectionTest, AHandshakeThatNobodyAnswersEnds) {
  Listen();
  QuicOptions options;
  options.handshake_timeout = std::chrono::milliseconds(300);
  auto deaf = *UdpSocket::Bind(SocketAddress::Loopback(0));
  client_ = *QuicClient::Connect(*loop_, {deaf.local(), "localhost"},
                                 *ClientCredentials::Make(InsecureLoopbackOnly{}), options,
                                 [this](QuicConnection& connection) {
                                   auto user = std::make_unique<TestUser>();
                                   user->connection = &connection;
                                   client_user_ = user.get();
                                   return user;
                                 });
  ASSERT_TRUE(Until([&] { return client_user_->closed.has_value(); }));
}

TEST_F(QuicConnectionTest, NoMoreClientsAreTakenThanAllowed) {
  QuicServer::Options options;
  options.connections_max = 1;
  ListenAndConnect(options);
  const std::unique_ptr<QuicClient> first = std::move(client_);
  TestUser* const first_user = client_user_;
  QuicOptions hasty;
  hasty.handshake_timeout = std::chrono::milliseconds(300);
  Connect(hasty);
  ASSERT_TRUE(Until([&] { return client_user_->closed.has_value(); }));
  EXPECT_FALSE(first_user->closed.has_value());
  EXPECT_EQ(server_->connections(), 1U);
}

// A packet that brings nothing, just after the session was poked, must not make the connection
// forget that it was.
TEST_F(QuicConnectionTest, APokeIsHeededWhateverArrivesMeanwhile) {
  QuicServer::Options options;
  options.connection.idle_timeout = std::chrono::hours(1);
  options.connection.keep_alive = Duration(0);
  options.connection.datagram_bytes_max = 1200;  // No probes of the path.
  Listen(options);
  Impair({});
  Connect(options.connection);
  ASSERT_TRUE(Until([&] { return server_user_ != nullptr; }));
  uint64_t before = UINT64_MAX;
  while (proxy_->back().datagrams + proxy_->there().datagrams != before) {  // Until all is quiet.
    before = proxy_->back().datagrams + proxy_->there().datagrams;
    const Instant end = Now() + std::chrono::milliseconds(200);
    ASSERT_TRUE(Until([&] { return Now() > end; }));
  }
  auto noise = *UdpSocket::Bind(SocketAddress::Loopback(0));
  noise.Send(server_user_->connection->remote(), AsBytes("noise"), 5);
  const uint64_t answers = proxy_->back().datagrams;
  ASSERT_TRUE(Until([&] { return proxy_->back().datagrams > answers; }));
  // It waits in the client's socket now.
  client_user_->Open(2);
  client_user_->Send(2, Bytes::Of("heeded"), true);
  ASSERT_TRUE(Until([&] { return server_user_->streams[2].fin; }));
}

// Whatever is thrown at the port, it goes on serving.
TEST_F(QuicConnectionTest, NoiseChangesNothing) {
  ListenAndConnect({}, [](TestUser& server) { server.echoes = true; });
  auto noise = *UdpSocket::Bind(SocketAddress::Loopback(0));
  for (size_t size = 1; size < 1300; size += 13) {
    const std::string bytes(size, static_cast<char>(size * 7));
    noise.Send(server_->local(), AsBytes(bytes), size);
  }
  client_user_->Open(0);
  client_user_->Send(0, Bytes::Of("still there?"), true);
  ASSERT_TRUE(Until([&] { return client_user_->streams[0].fin; }));
  EXPECT_EQ(client_user_->streams[0].bytes, "still there?");
}

TEST_F(QuicConnectionTest, ManyClientsAreServedOverOneSocket) {
  size_t served = 0;
  Listen({}, [&](TestUser& server) {
    server.echoes = true;
    ++served;
  });
  std::vector<std::unique_ptr<QuicClient>> clients;
  std::vector<TestUser*> users;
  for (size_t i = 0; i < 20; ++i) {
    Connect();
    clients.push_back(std::move(client_));
    users.push_back(client_user_);
    client_user_->Open(0);
    client_user_->Send(0, Bytes::Of("client " + std::to_string(i)), true);
  }
  for (size_t i = 0; i < users.size(); ++i) {
    ASSERT_TRUE(Until([&] { return users[i]->streams[0].fin; }));
    EXPECT_EQ(users[i]->streams[0].bytes, "client " + std::to_string(i));
  }
  EXPECT_EQ(served, 20U);
}

TEST(ServerCredentials, ADevelopmentCertificateIsMadeOnceAndItsKeyIsPrivate) {
  const ScratchDirectory scratch = *ScratchDirectory::Make();
  const std::filesystem::path directory = scratch / "new";
  const Digest first = ServerCredentials::Development(directory)->fingerprint();
  const Digest second = ServerCredentials::Development(directory)->fingerprint();
  EXPECT_EQ(first, second);
  const auto key = directory / ServerCredentials::kDevelopmentKey;
  EXPECT_EQ(std::filesystem::status(key).permissions(),
            std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);

  const ScratchDirectory other = *ScratchDirectory::Make();
  EXPECT_NE(ServerCredentials::Development(other.path())->fingerprint(), first);
}

TEST(ServerCredentials, ADevelopmentKeyThatOthersCanReadIsRefused) {
  const ScratchDirectory scratch = *ScratchDirectory::Make();
  ASSERT_TRUE(ServerCredentials::Development(scratch.path()).ok());
  std::filesystem::permissions(scratch / ServerCredentials::kDevelopmentKey,
                               std::filesystem::perms::group_read,
                               std::filesystem::perm_options::add);
  const auto refused = ServerCredentials::Development(scratch.path());
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().ToString().find("chmod 600"), std::string::npos);
}

TEST(ServerCredentials, WhatIsNoCertificateIsRefused) {
  const ScratchDirectory scratch = *ScratchDirectory::Make();
  ASSERT_TRUE(WriteFileAtomically(scratch / "a.pem", AsBytes("no certificate")).ok());
  EXPECT_FALSE(ServerCredentials::FromFiles({scratch / "a.pem", scratch / "a.pem"}).ok());
  EXPECT_FALSE(ServerCredentials::FromFiles({scratch / "none.pem", scratch / "a.pem"}).ok());
  EXPECT_FALSE(ClientCredentials::Make(TrustedAuthorities{scratch / "a.pem"}).ok());
}

}  // namespace
}  // namespace kvcast
