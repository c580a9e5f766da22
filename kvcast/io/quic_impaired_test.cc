// QUIC over networks that lose, duplicate, reorder and go silent: whatever happens to datagrams,
// the bytes of a stream arrive as they were sent.
#include "kvcast/io/quic_pair_test.h"

namespace kvcast {
namespace {

struct Network {
  const char* name;
  ImpairedLink::Options link;
  CongestionControl control = CongestionControl::kBbr;
  size_t bytes = 2'000'000;
};

void PrintTo(const Network& network, std::ostream* out) { *out << network.name; }

class QuicImpairedTest : public QuicPairTest, public testing::WithParamInterface<Network> {};

TEST_P(QuicImpairedTest, BytesComeBackAsTheyWent) {
  QuicServer::Options options;
  options.connection.congestion_control = GetParam().control;
  options.connection.datagram_bytes_max = 1452;
  Listen(options, [](TestUser& server) { server.echoes = true; });
  ImpairmentProxy::Options network;
  network.there = network.back = GetParam().link;
  network.back.seed = 2;
  Impair(network);
  Connect(options.connection);
  const Bytes sent = RandomBytes(GetParam().bytes);
  client_user_->Open(kClientBidi);
  client_user_->Send(kClientBidi, sent, true);
  ASSERT_TRUE(
      Until([&] { return client_user_->streams[kClientBidi].fin || client_user_->closed; }));
  ASSERT_FALSE(client_user_->closed.has_value()) << client_user_->closed->second;
  EXPECT_TRUE(client_user_->streams[kClientBidi].bytes == sent.ToString());
  // And the network was as bad as it should be.
  const ImpairedLink::Counts& counts = proxy_->there();
  EXPECT_EQ(counts.lost > 0, GetParam().link.loss > 0);
  EXPECT_EQ(counts.duplicated > 0, GetParam().link.duplication > 0);
  EXPECT_EQ(counts.held_back > 0, GetParam().link.reordering > 0);
  EXPECT_EQ(counts.corrupted > 0, GetParam().link.corruption > 0);
  EXPECT_EQ(counts.blacked_out > 0, GetParam().link.blackout_length > Duration(0));
}

using std::chrono::milliseconds;

INSTANTIATE_TEST_SUITE_P(
    Networks, QuicImpairedTest,
    testing::Values(
        Network{"LosesOnePercent", {.delay = milliseconds(2), .loss = 0.01}},
        Network{"LosesTenPercent", {.delay = milliseconds(2), .loss = 0.1}},
        Network{"LosesTenPercentUnderCubic",
                {.delay = milliseconds(2), .loss = 0.1},
                CongestionControl::kCubic},
        Network{"DuplicatesAThird", {.delay = milliseconds(2), .duplication = 0.33}},
        Network{"Reorders", {.delay = milliseconds(2), .reordering = 0.2}},
        Network{"TurnsBits", {.delay = milliseconds(2), .corruption = 0.05}},
        Network{"DoesItAll",
                {.delay = milliseconds(2), .loss = 0.05, .duplication = 0.1, .reordering = 0.1}},
        Network{"GoesSilentForASecond",
                {.delay = milliseconds(10),
                 .bits_per_second = 40'000'000,
                 .blackout_start = milliseconds(150),
                 .blackout_length = milliseconds(1000)}},
        Network{"IsSlowWithALittleQueue",
                {.delay = milliseconds(5), .bits_per_second = 40'000'000, .queue_bytes = 20'000},
                CongestionControl::kBbr,
                500'000}),
    [](const auto& network) { return std::string(network.param.name); });

using QuicWindowTest = QuicPairTest;

// Windows as small as these allow 100 KB a round trip; with one of 20 ms, more has to be let in.
TEST_F(QuicWindowTest, GrowWithTheRoundTripWhileTheSessionTakes) {
  QuicServer::Options options;
  options.connection.stream_credit_bytes = options.connection.connection_credit_bytes = 100'000;
  options.connection.stream_credit_bytes_max = 1'500'000;
  options.connection.connection_credit_bytes_max = 2'000'000;
  Listen(options);
  ImpairmentProxy::Options network;
  network.there.delay = network.back.delay = milliseconds(10);
  Impair(network);
  Connect(options.connection);
  client_user_->Open(kClientUni);
  client_user_->Send(kClientUni, RandomBytes(20'000'000), true);
  const auto received = [&] {
    return server_user_ == nullptr ? 0 : server_user_->streams[kClientUni].bytes.size();
  };
  ASSERT_TRUE(Until([&] { return received() > 8'000'000; }));
  // From now on nobody takes anything. What the window holds may still come, and no more.
  server_user_->grants = [](moqt::StreamId) { return false; };
  const size_t taken = received();
  ASSERT_TRUE(Until([&] { return received() - taken > 200'000; }));  // More than it was at first.
  ASSERT_TRUE(Until([&] { return client_user_->streams[kClientUni].sent_bytes == received(); }));
  EXPECT_LE(received() - taken, 1'500'000U);
  // And taking again lets all of it come.
  server_user_->grants = [](moqt::StreamId) { return true; };
  server_user_->Act(moqt::StreamCredit{kClientUni, received() - taken});
  server_user_->Act(moqt::ConnectionCredit{received() - taken});
  ASSERT_TRUE(Until([&] { return server_user_->streams[kClientUni].fin; }));
  EXPECT_EQ(received(), 20'000'000U);
}

// All streams together may only grow by so much.
TEST_F(QuicWindowTest, StayWhereTheyAreWhenOthersHaveGrown) {
  QuicServer::Options options;
  options.connection.stream_credit_bytes = 100'000;
  options.connection.stream_growth_bytes_max = 0;
  ListenAndConnect(options);
  client_user_->Open(kClientUni);
  client_user_->Send(kClientUni, RandomBytes(20'000'000), true);
  const auto received = [&] { return server_user_->streams[kClientUni].bytes.size(); };
  ASSERT_TRUE(Until([&] { return received() > 5'000'000; }));
  server_user_->grants = [](moqt::StreamId) { return false; };
  const size_t taken = received();
  // Whatever was taken was granted again.
  ASSERT_TRUE(Until([&] { return received() == taken + 100'000; }));
  EXPECT_EQ(client_user_->streams[kClientUni].sent_bytes, received());
}

using QuicKeyTest = QuicPairTest;

TEST_F(QuicKeyTest, BothSidesChangeKeysAndNothingIsLost) {
  QuicServer::Options options;
  options.connection.keep_alive = milliseconds(20);  // New keys are made ready by packets.
  ListenAndConnect(options, [](TestUser& server) { server.echoes = true; });
  const Bytes part = RandomBytes(300'000);
  client_user_->Open(kClientBidi);
  std::string expected;
  for (int i = 0; i < 6; ++i) {
    QuicConnection& changes = i % 2 == 0 ? client_->connection() : *server_user_->connection;
    ASSERT_TRUE(Until([&] { return changes.UpdateKeys(); }));
    client_user_->Send(kClientBidi, part, i == 5);
    expected += part.ToString();
    ASSERT_TRUE(
        Until([&] { return client_user_->streams[kClientBidi].bytes.size() == expected.size(); }));
  }
  EXPECT_TRUE(client_user_->streams[kClientBidi].bytes == expected);
  EXPECT_GE(client_->connection().key_updates(), 6U);
  EXPECT_GE(server_user_->connection->key_updates(), 6U);
}

// Where only one of them has the library, or wants it.
TEST_F(QuicKeyTest, BothWaysOfProtectingPacketsAreTheSameOnTheWire) {
  for (const bool server_is_fast : {false, true}) {
    QuicServer::Options options;
    options.connection.keep_alive = milliseconds(20);
    options.connection.fast_packets = server_is_fast;
    Listen(options, [](TestUser& server) { server.echoes = true; });
    options.connection.fast_packets = !server_is_fast;
    Connect(options.connection);
    const Bytes sent = RandomBytes(1'000'000);
    client_user_->Open(kClientBidi);
    client_user_->Send(kClientBidi, sent, false);
    ASSERT_TRUE(
        Until([&] { return client_user_->streams[kClientBidi].bytes.size() == sent.size(); }));
    ASSERT_TRUE(Until([&] { return client_->connection().UpdateKeys(); }));
    client_user_->Send(kClientBidi, sent, true);
    ASSERT_TRUE(Until([&] { return client_user_->streams[kClientBidi].fin; }));
    EXPECT_TRUE(client_user_->streams[kClientBidi].bytes == sent.ToString() + sent.ToString());
    client_.reset();
  }
}

}  // namespace
}  // namespace kvcast
