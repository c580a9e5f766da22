#include "kvcast/base/random.h"
#include "kvcast/io/quic_pair_test.h"

namespace kvcast {
namespace {

constexpr moqt::StreamId kClientBidi = 0;
constexpr moqt::StreamId kClientUni = 2;
constexpr moqt::StreamId kServerUni = 3;
constexpr size_t kLargeBytes = 50'000'000;

Bytes RandomBytes(size_t size) {
  Random random(7);
  std::vector<std::byte> bytes(size);
  random.Fill(bytes);
  return Bytes::Copy(bytes);
}

using QuicStreamTest = QuicPairTest;

TEST_F(QuicStreamTest, ASmallStreamComesBackAsItWent) {
  ListenAndConnect({}, [](TestUser& server) { server.echoes = true; });
  client_user_->Open(kClientBidi);
  client_user_->Send(kClientBidi, Bytes::Of("hello"), true);
  ASSERT_TRUE(Until([&] { return client_user_->streams[kClientBidi].fin; }));
  EXPECT_EQ(client_user_->streams[kClientBidi].bytes, "hello");
  EXPECT_EQ(client_user_->streams[kClientBidi].sent_bytes, 5U);
}

// A session may open streams and write to them before there is a connection.
TEST_F(QuicStreamTest, WhatIsWrittenBeforeTheHandshakeArrives) {
  Listen();
  Connect();
  client_user_->Open(kClientUni);
  client_user_->Send(kClientUni, Bytes::Of("early"), true);
  ASSERT_TRUE(Until([&] { return server_user_ != nullptr && !server_user_->ended.empty(); }));
  EXPECT_EQ(server_user_->streams[kClientUni].bytes, "early");
}

TEST_F(QuicStreamTest, ALargeStreamArrivesByteForByte) {
  ListenAndConnect();
  const Bytes sent = RandomBytes(kLargeBytes);
  client_user_->Open(kClientUni);
  client_user_->Send(kClientUni, sent, true);
  ASSERT_TRUE(Until([&] { return server_user_->streams[kClientUni].fin; }));
  EXPECT_TRUE(server_user_->streams[kClientUni].bytes == sent.ToString());
  EXPECT_EQ(client_user_->streams[kClientUni].sent_bytes, sent.size());
}

TEST_F(QuicStreamTest, ALargeStreamComesBackByteForByte) {
  ListenAndConnect({}, [](TestUser& server) { server.echoes = true; });
  const Bytes sent = RandomBytes(kLargeBytes);
  client_user_->Open(kClientBidi);
  client_user_->Send(kClientBidi, sent, true);
  ASSERT_TRUE(Until([&] { return client_user_->streams[kClientBidi].fin; }));
  EXPECT_TRUE(client_user_->streams[kClientBidi].bytes == sent.ToString());
}

// More streams than the peer allows at a time: the rest are opened as others end, in order.
TEST_F(QuicStreamTest, ManyStreamsArriveInTheOrderTheyWereOpened) {
  QuicServer::Options options;
  options.connection.peer_streams_uni = 10;
  ListenAndConnect(options);
  constexpr size_t kStreams = 500;
  for (size_t i = 0; i < kStreams; ++i) {
    client_user_->Open(kClientUni + 4 * i);
    client_user_->Send(kClientUni + 4 * i, Bytes::Of("stream " + std::to_string(i)), true);
  }
  ASSERT_TRUE(Until([&] { return server_user_->ended.size() == kStreams; }));
  for (size_t i = 0; i < kStreams; ++i) {
    EXPECT_EQ(server_user_->ended[i], kClientUni + 4 * i);
    EXPECT_EQ(server_user_->streams[kClientUni + 4 * i].bytes, "stream " + std::to_string(i));
  }
}

TEST_F(QuicStreamTest, BothSidesOpenStreamsOfBothKinds) {
  ListenAndConnect({}, [](TestUser& server) { server.echoes = true; });
  client_user_->echoes = true;
  for (const moqt::StreamId id : {0U, 2U}) {
    client_user_->Open(id);
    client_user_->Send(id, Bytes::Of("from the client"), true);
  }
  ASSERT_TRUE(Until([&] { return server_user_->ended.size() == 2; }));
  server_user_->echoes = false;
  for (const moqt::StreamId id : {1U, 3U}) {
    server_user_->Open(id);
    server_user_->Send(id, Bytes::Of("from the server"), true);
  }
  ASSERT_TRUE(
      Until([&] { return server_user_->ended.size() == 3 && client_user_->ended.size() == 3; }));
  EXPECT_EQ(client_user_->streams[0].bytes, "from the client");
  EXPECT_EQ(server_user_->streams[1].bytes, "from the server");
  EXPECT_EQ(client_user_->streams[3].bytes, "from the server");
}

// What waits is sent by its order and not by its age, so a late message overtakes bulk.
TEST_F(QuicStreamTest, TheMostUrgentStreamIsSentFirst) {
  ListenAndConnect();
  const auto order = [](uint8_t priority) {
    moqt::SendOrder data;
    data.tier = moqt::SendOrder::Tier::kData;
    data.subscriber_priority = priority;
    return data;
  };
  const Bytes bulk = RandomBytes(3'000'000);
  for (uint8_t i = 0; i < 3; ++i) {
    client_user_->Open(kClientUni + 4 * i, order(static_cast<uint8_t>(200 - i)));
    client_user_->Send(kClientUni + 4 * i, bulk, true);
  }
  client_user_->Open(kClientUni + 12);  // Of the control tier.
  client_user_->Send(kClientUni + 12, Bytes::Of("urgent"), true);
  ASSERT_TRUE(Until([&] { return server_user_->ended.size() == 4; }));
  EXPECT_EQ(server_user_->ended, (std::vector<moqt::StreamId>{kClientUni + 12, kClientUni + 8,
                                                              kClientUni + 4, kClientUni}));
}

TEST_F(QuicStreamTest, AStreamWithoutCreditStopsAloneAndGoesOnWhenItGetsSome) {
  QuicServer::Options options;
  options.connection.stream_credit_bytes = 100'000;
  ListenAndConnect(options, [](TestUser& server) {
    server.grants = [](moqt::StreamId stream) { return stream != kClientUni; };
  });
  const Bytes bytes = RandomBytes(1'000'000);
  client_user_->Open(kClientUni);
  client_user_->Send(kClientUni, bytes, true);
  client_user_->Open(kClientUni + 4);
  client_user_->Send(kClientUni + 4, bytes, true);
  ASSERT_TRUE(Until([&] { return server_user_->streams[kClientUni + 4].fin; }));
  ASSERT_TRUE(Until([&] { return server_user_->streams[kClientUni].bytes.size() == 100'000; }));
  EXPECT_EQ(client_user_->streams[kClientUni].sent_bytes, 100'000U);

  server_user_->grants = [](moqt::StreamId) { return true; };
  server_user_->Act(moqt::StreamCredit{kClientUni, 100'000});
  server_user_->Act(moqt::ConnectionCredit{100'000});
  ASSERT_TRUE(Until([&] { return server_user_->streams[kClientUni].fin; }));
  EXPECT_TRUE(server_user_->streams[kClientUni].bytes == bytes.ToString());
}

TEST_F(QuicStreamTest, AConnectionWithoutCreditStopsAndGoesOnWhenItGetsSome) {
  QuicServer::Options options;
  options.connection.connection_credit_bytes = 150'000;
  ListenAndConnect(options,
                   [](TestUser& server) { server.grants = [](moqt::StreamId) { return false; }; });
  const Bytes bytes = RandomBytes(100'000);
  for (const moqt::StreamId id : {kClientUni, kClientUni + 4}) {
    client_user_->Open(id);
    client_user_->Send(id, bytes, true);
  }
  const auto arrived = [&] {
    return server_user_->streams[kClientUni].bytes.size() +
           server_user_->streams[kClientUni + 4].bytes.size();
  };
  ASSERT_TRUE(Until([&] { return arrived() == 150'000; }));
  server_user_->Act(moqt::ConnectionCredit{50'000});
  ASSERT_TRUE(Until([&] { return server_user_->ended.size() == 2; }));
}

TEST_F(QuicStreamTest, AResetArrivesWithItsCode) {
  ListenAndConnect();
  client_user_->Open(kClientUni);
  client_user_->Send(kClientUni, Bytes::Of("some"), false);
  ASSERT_TRUE(Until([&] { return server_user_->streams[kClientUni].bytes == "some"; }));
  client_user_->Act(moqt::ResetStream{kClientUni, 77});
  ASSERT_TRUE(Until([&] { return server_user_->streams[kClientUni].reset.has_value(); }));
  EXPECT_EQ(server_user_->streams[kClientUni].reset, 77U);
}

// The ids of later streams count on it.
TEST_F(QuicStreamTest, AStreamThatIsResetBeforeItCouldOpenIsOpenedAllTheSame) {
  Listen();
  Connect();
  client_user_->Open(kClientUni);
  client_user_->Send(kClientUni, Bytes::Of("never sent"), false);
  client_user_->Act(moqt::ResetStream{kClientUni, 5});
  client_user_->Open(kClientUni + 4);
  client_user_->Send(kClientUni + 4, Bytes::Of("sent"), true);
  ASSERT_TRUE(Until([&] { return server_user_ != nullptr && !server_user_->ended.empty(); }));
  ASSERT_TRUE(Until([&] { return server_user_->streams[kClientUni].reset.has_value(); }));
  EXPECT_EQ(server_user_->streams[kClientUni].bytes, "");
  EXPECT_EQ(server_user_->streams[kClientUni + 4].bytes, "sent");
}

TEST_F(QuicStreamTest, ThePeerHearsThatItsBytesAreNoLongerWanted) {
  QuicServer::Options options;
  options.connection.stream_credit_bytes = 10'000;
  ListenAndConnect(options,
                   [](TestUser& server) { server.grants = [](moqt::StreamId) { return false; }; });
  client_user_->Open(kClientUni);
  client_user_->Send(kClientUni, RandomBytes(1'000'000), true);
  ASSERT_TRUE(Until([&] { return server_user_->streams[kClientUni].bytes.size() == 10'000; }));
  server_user_->Act(moqt::StopSending{kClientUni, 33});
  ASSERT_TRUE(Until([&] { return client_user_->streams[kClientUni].stop.has_value(); }));
  EXPECT_EQ(client_user_->streams[kClientUni].stop, 33U);
  // And the one who stopped it hears that it is over.
  ASSERT_TRUE(Until([&] { return server_user_->streams[kClientUni].reset.has_value(); }));
}

TEST_F(QuicStreamTest, AStoppedStreamThatGoesBothWaysIsStillReceived) {
  ListenAndConnect();
  client_user_->Open(kClientBidi);
  client_user_->Send(kClientBidi, Bytes::Of("a"), false);
  ASSERT_TRUE(Until([&] { return server_user_->streams[kClientBidi].bytes == "a"; }));
  server_user_->Act(moqt::StopSending{kClientBidi, 1});
  server_user_->Send(kClientBidi, Bytes::Of("answer"), false);
  ASSERT_TRUE(Until([&] { return client_user_->streams[kClientBidi].bytes == "answer"; }));
  client_user_->Send(kClientBidi, Bytes::Of("b"), false);  // Nobody wants it.
  ASSERT_TRUE(Until([&] { return client_user_->streams[kClientBidi].stop.has_value(); }));
  server_user_->Send(kClientBidi, Bytes::Of("!"), true);
  ASSERT_TRUE(Until([&] { return client_user_->streams[kClientBidi].fin; }));
  EXPECT_EQ(client_user_->streams[kClientBidi].bytes, "answer!");
}

// The same without the kernel's help, as where it has none.
TEST_F(QuicStreamTest, DatagramsMayGoOneByOne) {
  QuicServer::Options options;
  options.socket.offload = false;
  options.connection.datagram_bytes_max = 1300;
  ListenAndConnect(options);
  const Bytes bytes = RandomBytes(1'000'000);
  server_user_->Open(kServerUni);
  server_user_->Send(kServerUni, bytes, true);
  ASSERT_TRUE(Until([&] { return client_user_->streams[kServerUni].fin; }));
  EXPECT_TRUE(client_user_->streams[kServerUni].bytes == bytes.ToString());
}

TEST_F(QuicStreamTest, LoopbackCarriesLargeDatagrams) {
  ListenAndConnect();
  client_user_->Open(kClientUni);
  ASSERT_TRUE(Until([&] { return client_->connection().datagram_bytes() > 60'000; }));
}

}  // namespace
}  // namespace kvcast
