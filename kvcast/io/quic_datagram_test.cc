#include "kvcast/io/datagram_queue.h"
#include "kvcast/io/quic_pair_test.h"
#include "kvcast/moqt/codes.h"

namespace kvcast {
namespace {

moqt::SendOrder Order(uint8_t priority) {
  moqt::SendOrder order;
  order.tier = moqt::SendOrder::Tier::kData;
  order.subscriber_priority = priority;
  return order;
}

TEST(DatagramQueue, TheMostUrgentComesFirstAndOfEqualsTheOldest) {
  DatagramQueue queue(1000);
  queue.Push(Bytes::Of("later"), Order(9));
  queue.Push(Bytes::Of("first"), Order(1));
  queue.Push(Bytes::Of("second"), Order(1));
  std::vector<std::string> sent;
  for (; !queue.empty(); queue.Pop()) {
    sent.push_back(queue.front().ToString());
  }
  EXPECT_EQ(sent, (std::vector<std::string>{"first", "second", "later"}));
}

// Each request has the places that its frames came at, and uses them by group.
TEST(DatagramQueue, OfOneRequestTheFirstGroupComesFirst) {
  DatagramQueue queue(1000);
  const auto order = [](uint64_t request, uint64_t group) {
    moqt::SendOrder made = Order(1);
    made.request = request;
    made.group = group;
    return made;
  };
  queue.Push(Bytes::Of("one's second"), order(1, 9));
  queue.Push(Bytes::Of("two's"), order(2, 100));
  queue.Push(Bytes::Of("one's first"), order(1, 8));
  std::vector<std::string> sent;
  for (; !queue.empty(); queue.Pop()) {
    sent.push_back(queue.front().ToString());
  }
  EXPECT_EQ(sent, (std::vector<std::string>{"one's first", "two's", "one's second"}));
}

TEST(DatagramQueue, KnowsUntilWhenEachMayBeSent) {
  DatagramQueue queue(1000);
  const Instant soon = Instant() + std::chrono::seconds(1);
  queue.Push(Bytes::Of("first"), Order(1), soon);
  queue.Push(Bytes::Of("second"), Order(1));
  EXPECT_EQ(queue.until(), soon);
  queue.Pop();
  EXPECT_EQ(queue.until(), Instant::max());
}

TEST(DatagramQueue, WhatDoesNotFitIsDropped) {
  DatagramQueue queue(10);
  EXPECT_TRUE(queue.Push(Bytes::Of("123456"), {}));
  EXPECT_FALSE(queue.Push(Bytes::Of("12345"), {}));
  EXPECT_TRUE(queue.Push(Bytes::Of("1234"), {}));
  queue.Pop();
  EXPECT_TRUE(queue.Push(Bytes::Of("12345"), {}));
}

TEST(DatagramQueue, CountsWhatIsGoneByRequest) {
  DatagramQueue queue(10);
  moqt::SendOrder second = Order(1);
  second.request = 2;
  queue.Push(Bytes::Of("123456"), Order(1));
  queue.Push(Bytes::Of("1234"), second);
  EXPECT_FALSE(queue.any_gone());
  queue.Push(Bytes::Of("dropped"), second);
  EXPECT_EQ(queue.TakeGone(), (std::map<uint64_t, uint64_t>{{2, 1}}));
  EXPECT_FALSE(queue.any_gone());
  queue.Pop();
  queue.Pop();
  EXPECT_EQ(queue.TakeGone(), (std::map<uint64_t, uint64_t>{{0, 1}, {2, 1}}));
}

using QuicDatagramTest = QuicPairTest;

TEST_F(QuicDatagramTest, GoBothWays) {
  ListenAndConnect();
  client_user_->Act(moqt::SendDatagram{Bytes::Of("to the server"), {}});
  server_user_->Act(moqt::SendDatagram{Bytes::Of("to the client"), {}});
  server_user_->Act(moqt::SendDatagram{Bytes(), {}});
  ASSERT_TRUE(Until(
      [&] { return server_user_->datagrams.size() == 1 && client_user_->datagrams.size() == 2; }));
  EXPECT_EQ(server_user_->datagrams[0], "to the server");
  EXPECT_EQ(client_user_->datagrams, (std::vector<std::string>{"to the client", ""}));
}

TEST_F(QuicDatagramTest, OneThatIsTooLateIsNotSent) {
  ListenAndConnect();
  client_user_->Act(moqt::SendDatagram{Bytes::Of("late"), {}, Instant()});
  client_user_->Act(moqt::SendDatagram{Bytes::Of("in time"), {}});
  ASSERT_TRUE(Until([&] { return !server_user_->datagrams.empty(); }));
  EXPECT_EQ(server_user_->datagrams, std::vector<std::string>{"in time"});
  EXPECT_EQ(client_user_->datagrams_gone[0], 2u);
}

TEST_F(QuicDatagramTest, ThatIsWrittenBeforeTheHandshakeArrives) {
  Listen();
  Connect();
  client_user_->Act(moqt::SendDatagram{Bytes::Of("early"), {}});
  ASSERT_TRUE(Until([&] { return server_user_ != nullptr && !server_user_->datagrams.empty(); }));
  EXPECT_EQ(server_user_->datagrams[0], "early");
}

TEST_F(QuicDatagramTest, OneThatIsTooLargeForThePathIsDroppedAlone) {
  QuicServer::Options options;
  options.connection.datagram_bytes_max = 1400;
  ListenAndConnect(options);
  const std::string fits(1100, 'x');
  client_user_->Act(moqt::SendDatagram{Bytes::Of(std::string(1400, 'y')), {}});
  client_user_->Act(moqt::SendDatagram{Bytes::Of(fits), {}});
  ASSERT_TRUE(Until([&] { return !server_user_->datagrams.empty(); }));
  EXPECT_EQ(server_user_->datagrams, std::vector<std::string>{fits});
  EXPECT_EQ(client_user_->datagrams_gone[0], 2u);
  client_user_->Open(2);
  client_user_->Send(2, Bytes::Of("and streams go on"), true);
  ASSERT_TRUE(Until([&] { return server_user_->streams[2].fin; }));
}

TEST_F(QuicDatagramTest, ManyArriveAmongStreams) {
  ListenAndConnect();
  const Bytes bulk = RandomBytes(3'000'000);
  client_user_->Open(2, Order(100));
  client_user_->Send(2, bulk, true);
  constexpr size_t kCount = 500;
  for (size_t i = 0; i < kCount; ++i) {
    client_user_->Act(moqt::SendDatagram{Bytes::Of(std::to_string(i)), Order(50)});
  }
  ASSERT_TRUE(Until([&] { return server_user_->streams[2].fin; }));
  // They are more urgent, and loopback loses none.
  ASSERT_TRUE(Until([&] { return server_user_->datagrams.size() == kCount; }));
  EXPECT_EQ(server_user_->datagrams.back(), std::to_string(kCount - 1));
  EXPECT_TRUE(server_user_->streams[2].bytes == bulk.ToString());
}

TEST_F(QuicDatagramTest, APeerThatTakesNoneIsTurnedAway) {
  QuicServer::Options without;
  without.connection.datagram_frame_bytes_max = 0;
  const auto expect_refusal = [this] {
    client_user_->Open(2);
    client_user_->Send(2, Bytes::Of("early"), true);
    ASSERT_TRUE(Until([&] { return client_user_->closed.has_value(); }));
    EXPECT_EQ(client_user_->closed->first,
              static_cast<uint64_t>(moqt::SessionCode::kProtocolViolation));
    EXPECT_NE(client_user_->closed->second.find("DATAGRAM"), std::string::npos)
        << client_user_->closed->second;
  };
  Listen();
  Connect(without.connection);
  expect_refusal();
  EXPECT_EQ(server_user_, nullptr);
  ASSERT_TRUE(Until([&] { return server_->connections() == 0; }));
  EXPECT_EQ(server_->handshakes(), 0U);
  // And a server that takes none.
  client_.reset();
  Listen(without);
  Connect();
  expect_refusal();
}

TEST_F(QuicDatagramTest, NoMoreWaitThanTheQueueHolds) {
  QuicServer::Options options;
  options.connection.datagram_queue_bytes = 3000;
  Listen(options);
  Connect(options.connection);
  for (int i = 0; i < 10; ++i) {  // Before the handshake, so that all have to wait.
    client_user_->Act(moqt::SendDatagram{Bytes::Of(std::string(1000, 'x')), {}});
  }
  client_user_->Open(2);
  client_user_->Send(2, Bytes::Of("behind them"), true);
  ASSERT_TRUE(Until([&] { return server_user_ != nullptr && server_user_->streams[2].fin; }));
  ASSERT_TRUE(Until([&] { return server_user_->datagrams.size() >= 3; }));
  EXPECT_EQ(server_user_->datagrams.size(), 3U);
  EXPECT_EQ(client_user_->datagrams_gone[0], 10U);
}

}  // namespace
}  // namespace kvcast
