#include "kvcast/io/quic_pair_test.h"

namespace kvcast {
namespace {

constexpr moqt::StreamId kServerUni = 3;
constexpr size_t kLargeBytes = 50'000'000;

using QuicStreamTest = QuicPairTest;

moqt::SendOrder DataOrder(uint8_t priority) {
  moqt::SendOrder order;
  order.tier = moqt::SendOrder::Tier::kData;
  order.subscriber_priority = priority;
  return order;
}

// What came on streams that ended, in the order of their ends: the peer knows streams by the order
// in which they were opened, and not by the session's ids.
std::vector<std::string> EndedBytes(const TestUser& user) {
  std::vector<std::string> bytes;
  for (const moqt::StreamId stream : user.ended) {
    bytes.push_back(user.streams.at(stream).bytes);
  }
  return bytes;
}
std::vector<size_t> EndedSizes(const TestUser& user) {
  std::vector<size_t> sizes;
  for (const std::string& bytes : EndedBytes(user)) {
    sizes.push_back(bytes.size());
  }
  return sizes;
}

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

TEST_F(QuicStreamTest, NoStreamsAreBegunInPlaceOfOthersWhileTheSessionHasNoRoom) {
  QuicServer::Options options;
  options.connection.peer_streams_uni = 10;
  ListenAndConnect(options);
  server_user_->has_room = false;
  constexpr size_t kStreams = 25;
  for (size_t i = 0; i < kStreams; ++i) {
    client_user_->Open(kClientUni + 4 * i);
    client_user_->Send(kClientUni + 4 * i, Bytes::Of("x"), true);
  }
  client_user_->Open(kClientBidi);
  client_user_->Send(kClientBidi, Bytes::Of("still heard"), true);
  ASSERT_TRUE(Until([&] {
    return server_user_->ended.size() == 11 && client_user_->streams[kClientUni + 4 * 9].delivered;
  }));
  EXPECT_GT(server_user_->used_up, 0U);
  server_user_->has_room = true;
  server_user_->used_up = 0;
  server_user_->connection->Poke();
  ASSERT_TRUE(Until([&] { return server_user_->ended.size() == kStreams + 1; }));
  EXPECT_EQ(server_user_->used_up, 0U);
}

// Those that are open count, too.
TEST_F(QuicStreamTest, ThatThePeerHasBegunAllItsStreamsIsSaidWhileTheSessionHasNoRoom) {
  QuicServer::Options options;
  options.connection.peer_streams_uni = 10;
  ListenAndConnect(options);
  server_user_->has_room = false;
  for (size_t i = 0; i < 9; ++i) {
    client_user_->Open(kClientUni + 4 * i);
    client_user_->Send(kClientUni + 4 * i, Bytes::Of("x"), i < 4);
  }
  ASSERT_TRUE(Until([&] {
    return server_user_->streams.size() == 9 && client_user_->streams[kClientUni + 4 * 3].delivered;
  }));
  EXPECT_EQ(server_user_->used_up, 0U);
  client_user_->Open(kClientUni + 4 * 9);
  client_user_->Send(kClientUni + 4 * 9, Bytes::Of("x"), false);
  ASSERT_TRUE(Until([&] { return server_user_->used_up > 0; }));
}

// Streams of many tracks stay open, and none of them stands in another's way.
TEST_F(QuicStreamTest, AThousandStreamsAreOpenAtATime) {
  ListenAndConnect();
  constexpr size_t kStreams = 1025;
  for (size_t i = 0; i < kStreams; ++i) {
    client_user_->Open(kClientUni + 4 * i);
    client_user_->Send(kClientUni + 4 * i, Bytes::Of("x"), false);
  }
  ASSERT_TRUE(Until([&] { return server_user_->streams.size() == kStreams; }));
}

// Of those that wait because the peer allows no more.
TEST_F(QuicStreamTest, TheMostUrgentStreamIsOpenedFirst) {
  QuicServer::Options options;
  options.connection.peer_streams_uni = 10;
  ListenAndConnect(options);
  server_user_->has_room = false;
  constexpr size_t kStreams = 20;
  for (size_t i = 0; i < kStreams; ++i) {
    client_user_->Open(kClientUni + 4 * i, DataOrder(200));
    client_user_->Send(kClientUni + 4 * i, Bytes::Of("bulk"), true);
  }
  ASSERT_TRUE(Until([&] { return server_user_->ended.size() == 10; }));
  constexpr moqt::StreamId kUrgent = kClientUni + 4 * kStreams;
  client_user_->Open(kUrgent, DataOrder(0));
  client_user_->Send(kUrgent, Bytes::Of("urgent"), true);
  server_user_->has_room = true;
  server_user_->connection->Poke();
  ASSERT_TRUE(Until([&] { return server_user_->ended.size() == kStreams + 1; }));
  std::vector<std::string> expected(kStreams + 1, "bulk");
  expected[10] = "urgent";
  EXPECT_EQ(EndedBytes(*server_user_), expected);
  ASSERT_TRUE(Until([&] { return client_->connection().all_delivered(); }));
  EXPECT_TRUE(client_user_->streams[kUrgent].delivered);
}

TEST_F(QuicStreamTest, ASessionHearsHowLateItIsWhateverAPacketBrings) {
  ListenAndConnect();
  server_user_->Open(kServerUni);
  server_user_->Send(kServerUni, Bytes::Of("x"), true);
  server_user_->told = Instant();
  // The client says nothing: only an acknowledgement comes.
  ASSERT_TRUE(Until([&] { return server_user_->streams[kServerUni].delivered; }));
  EXPECT_GT(server_user_->told, Instant());
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

// Credit for all that a test sends: where a stream has to wait for more, others go ahead of it.
QuicServer::Options CreditForAll() {
  QuicServer::Options options;
  options.connection.stream_credit_bytes = 16 << 20;
  options.connection.connection_credit_bytes = 64 << 20;
  return options;
}

// What waits is sent by its order and not by its age, so a late message overtakes bulk.
TEST_F(QuicStreamTest, TheMostUrgentStreamIsSentFirst) {
  ListenAndConnect(CreditForAll());
  for (uint8_t i = 0; i < 3; ++i) {
    client_user_->Open(kClientUni + 4 * i, DataOrder(static_cast<uint8_t>(200 - i)));
    client_user_->Send(kClientUni + 4 * i, RandomBytes(3'000'000 + i), true);
  }
  client_user_->Open(kClientUni + 12);  // Of the control tier.
  client_user_->Send(kClientUni + 12, Bytes::Of("urgent"), true);
  ASSERT_TRUE(Until([&] { return server_user_->ended.size() == 4; }));
  EXPECT_EQ(EndedSizes(*server_user_), (std::vector<size_t>{6, 3'000'002, 3'000'001, 3'000'000}));
}

TEST_F(QuicStreamTest, RequestsThatAreEquallyUrgentAreSentSideBySide) {
  ListenAndConnect(CreditForAll());
  const Bytes bulk = RandomBytes(10'000'000);
  for (const moqt::StreamId id : {kClientUni, kClientUni + 4}) {
    moqt::SendOrder order = DataOrder(128);
    order.request = id;
    order.group = id;  // Says nothing between requests.
    client_user_->Open(id, order);
    client_user_->Send(id, bulk, true);
  }
  ASSERT_TRUE(Until([&] { return !server_user_->ended.empty(); }));
  const moqt::StreamId other = 2 * kClientUni + 4 - server_user_->ended.front();
  EXPECT_GT(server_user_->streams[other].bytes.size(), bulk.size() / 2);
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
TEST_F(QuicStreamTest, ASessionHearsWhenAllOfAStreamHasArrived) {
  ListenAndConnect();
  constexpr moqt::StreamId kGivenUp = kClientUni + 4;
  client_user_->Open(kClientUni);
  client_user_->Send(kClientUni, RandomBytes(kLargeBytes), true);
  client_user_->Open(kGivenUp);
  client_user_->Send(kGivenUp, Bytes::Of("half"), false);
  ASSERT_TRUE(Until([&] { return client_user_->streams[kClientUni].delivered; }));
  EXPECT_TRUE(server_user_->streams[kClientUni].fin);
  client_user_->Act(moqt::ResetStream{kGivenUp, 7});
  ASSERT_TRUE(Until([&] { return server_user_->streams[kGivenUp].reset.has_value(); }));
  ASSERT_TRUE(Until([&] { return client_->connection().all_delivered(); }));
  EXPECT_FALSE(client_user_->streams[kGivenUp].delivered);
}

// All was sent, but the network is gone.
TEST_F(QuicStreamTest, WhatWasSentHasNotArrivedYet) {
  Listen();
  ImpairmentProxy::Options network;
  Impair(network);
  Connect();
  ASSERT_TRUE(Until([&] { return server_user_ != nullptr; }));
  proxy_.reset();
  client_user_->Open(kClientUni);
  client_user_->Send(kClientUni, Bytes::Of("lost"), true);
  ASSERT_TRUE(Until([&] { return client_user_->streams[kClientUni].sent_bytes == 4; }));
  EXPECT_FALSE(client_user_->streams[kClientUni].delivered);
}

TEST_F(QuicStreamTest, AStreamThatIsResetBeforeItCouldOpenIsNotOpened) {
  Listen();
  Connect();
  client_user_->Open(kClientUni);
  client_user_->Send(kClientUni, Bytes::Of("never sent"), false);
  client_user_->Act(moqt::ResetStream{kClientUni, 5});
  client_user_->Open(kClientUni + 4);
  client_user_->Send(kClientUni + 4, Bytes::Of("sent"), true);
  ASSERT_TRUE(Until([&] { return server_user_ != nullptr && !server_user_->ended.empty(); }));
  EXPECT_EQ(server_user_->streams.size(), 1U);
  EXPECT_EQ(server_user_->streams[kClientUni].bytes, "sent");
  ASSERT_TRUE(Until([&] { return client_user_->streams[kClientUni + 4].delivered; }));
  EXPECT_TRUE(client_->connection().all_delivered());
}

// Whatever the peer calls it, the session hears of it by its own id.
TEST_F(QuicStreamTest, WhatThePeerSaysOfAStreamReachesTheOneItMeans) {
  QuicServer::Options options;
  options.connection.stream_credit_bytes = options.connection.stream_credit_bytes_max = 10'000;
  ListenAndConnect(options,
                   [](TestUser& server) { server.grants = [](moqt::StreamId) { return false; }; });
  client_user_->Open(kClientUni, DataOrder(9));
  client_user_->Send(kClientUni, RandomBytes(20'000), true);
  client_user_->Open(kClientUni + 4, DataOrder(1));  // Opened before the other.
  client_user_->Send(kClientUni + 4, RandomBytes(30'000), true);
  ASSERT_TRUE(Until([&] { return server_user_->streams[kClientUni + 4].bytes.size() == 10'000; }));
  server_user_->Act(moqt::StreamCredit{kClientUni + 4, 10'000});
  ASSERT_TRUE(Until([&] { return client_user_->streams[kClientUni].delivered; }));
  EXPECT_EQ(server_user_->streams[kClientUni + 4].bytes.size(), 20'000U);
  server_user_->Act(moqt::StopSending{kClientUni, 33});
  ASSERT_TRUE(Until([&] { return client_user_->streams[kClientUni + 4].stop == 33U; }));
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

// Nobody writes to it, as to that of a subscription whose objects go by other streams.
TEST_F(QuicStreamTest, ThatAnIdleStreamWasStoppedIsNoticed) {
  ListenAndConnect({}, [](TestUser& server) { server.echoes = true; });
  for (const moqt::StreamId id : {kClientBidi, kClientBidi + 4}) {
    client_user_->Open(id);
    client_user_->Send(id, Bytes::Of("a"), false);
    ASSERT_TRUE(Until([&] { return client_user_->streams[id].bytes == "a"; }));
  }
  client_user_->Act(moqt::StopSending{kClientBidi, 1});
  ASSERT_TRUE(Until([&] { return server_user_->streams[kClientBidi].stop.has_value(); }));
  EXPECT_FALSE(server_user_->streams[kClientBidi + 4].stop.has_value());
  client_user_->Send(kClientBidi, Bytes::Of("b"), true);  // The other half goes on.
  client_user_->Send(kClientBidi + 4, Bytes::Of("b"), true);
  ASSERT_TRUE(Until([&] { return client_user_->streams[kClientBidi + 4].fin; }));
  ASSERT_TRUE(Until([&] { return server_user_->streams[kClientBidi].fin; }));
  EXPECT_EQ(server_user_->streams[kClientBidi].bytes, "ab");
  EXPECT_EQ(client_user_->streams[kClientBidi + 4].bytes, "ab");
}

// A session that is asked again, after the peer has left by STOP_SENDING, knows that it has:
// whether both came in one packet, or the peer waited for our half to end.
TEST_F(QuicStreamTest, ThatAStreamWasStoppedIsKnownBeforeAnotherOneBegins) {
  std::map<moqt::StreamId, bool> known;  // Of each that began: whether the one before was over.
  ListenAndConnect({}, [&](TestUser& server) {
    server.echoes = true;
    server.grants = [&](moqt::StreamId id) {
      known[id] = id == kClientBidi || server.streams[id - 4].stop.has_value();
      return true;
    };
  });
  moqt::StreamId id = kClientBidi;
  for (const bool waits : {false, true, false, true}) {
    client_user_->Open(id);
    client_user_->Send(id, Bytes::Of("a"), false);
    ASSERT_TRUE(Until([&] { return client_user_->streams[id].bytes == "a"; }));
    client_user_->Act(moqt::StopSending{id, 1});
    ASSERT_TRUE(Until([&] { return !waits || client_user_->streams[id].reset.has_value(); }));
    id += 4;
  }
  client_user_->Open(id);
  client_user_->Send(id, Bytes::Of("a"), false);
  ASSERT_TRUE(Until([&] { return known.contains(id); }));
  for (const auto& [stream, was_known] : known) {
    EXPECT_TRUE(was_known) << stream;
  }
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

TEST_F(QuicStreamTest, LoopbackCarriesTheLargestDatagramsThereAre) {
  ListenAndConnect();
  ASSERT_TRUE(
      Until([&] { return client_->connection().datagram_bytes() == UdpSocket::kSendBytesMax; }));
}

TEST_F(QuicStreamTest, DatagramsAreAsLargeAsThePathCarriesAndNotLarger) {
  Listen();
  ImpairmentProxy::Options jumbo;
  jumbo.there.datagram_bytes_max = jumbo.back.datagram_bytes_max = 8972;  // 9000 over IPv4.
  Impair(jumbo);
  Connect();
  ASSERT_TRUE(Until([&] { return client_->connection().datagram_bytes() == 8952; }));
  // Those that are larger were tried, and bytes arrive all the same.
  ASSERT_TRUE(Until([&] { return proxy_->there().too_large > 0; }));
  const Bytes bytes = RandomBytes(3'000'000);
  client_user_->Open(kClientUni);
  client_user_->Send(kClientUni, bytes, true);
  ASSERT_TRUE(Until([&] { return server_user_->streams[kClientUni].fin; }));
  EXPECT_TRUE(server_user_->streams[kClientUni].bytes == bytes.ToString());
  EXPECT_EQ(client_->connection().datagram_bytes(), 8952U);
}

TEST_F(QuicStreamTest, SessionsHearHowManyStreamsTheyMayOpen) {
  QuicServer::Options options;
  options.connection.peer_streams_bidi = 3;
  ListenAndConnect(options, [](TestUser& server) { server.echoes = true; });
  ASSERT_TRUE(Until([&] { return server_user_->streams_allowed.has_value(); }));
  EXPECT_EQ(client_user_->streams_allowed, 3U);
  EXPECT_EQ(server_user_->streams_allowed, 3U);
  client_user_->Open(kClientBidi);
  client_user_->Send(kClientBidi, Bytes::Of("one that ends makes room for another"), true);
  ASSERT_TRUE(Until([&] { return client_user_->streams_allowed == 4U; }));
}

TEST_F(QuicStreamTest, ThatNoStreamMayBeOpenedIsSaidToo) {
  QuicServer::Options options;
  options.connection.peer_streams_bidi = 0;
  ListenAndConnect(options);
  EXPECT_EQ(client_user_->streams_allowed, 0U);
}

// An update of a request's priority reaches what already waits.
TEST_F(QuicStreamTest, AStreamWhoseOrderChangesIsSentInItsNewPlace) {
  ListenAndConnect();
  for (uint8_t i = 0; i < 3; ++i) {
    client_user_->Open(kClientUni + 4 * i, DataOrder(static_cast<uint8_t>(100 + i)));
    client_user_->Send(kClientUni + 4 * i, RandomBytes(3'000'000 + i), true);
  }
  client_user_->Act(moqt::ReorderStream{kClientUni + 8, DataOrder(1)});
  client_user_->Act(moqt::ReorderStream{kClientUni + 12, DataOrder(1)});  // There is none.
  ASSERT_TRUE(Until([&] { return server_user_->ended.size() == 3; }));
  EXPECT_EQ(EndedSizes(*server_user_), (std::vector<size_t>{3'000'002, 3'000'000, 3'000'001}));
}

// Whoever acts on one of them has to know of the others: what was not sent, it may give up.
TEST_F(QuicStreamTest, ASessionHearsOfAllThatWasSentAtOnceBeforeItActs) {
  ListenAndConnect();
  for (uint8_t i = 0; i < 3; ++i) {
    client_user_->Open(kClientUni + 4 * i, DataOrder(1));
    client_user_->Send(kClientUni + 4 * i, Bytes::Of("kv"), true);
  }
  ASSERT_TRUE(Until([&] { return server_user_->ended.size() == 3; }));
  EXPECT_EQ(client_user_->most_sent_at_once, 3U);
}

// What is sent lies in the memory it was given in, and that is let go when the peer has the bytes,
// chunk by chunk, and not before.
TEST_F(QuicStreamTest, PayloadIsHeldOnceAndReleasedWhenAcknowledged) {
  QuicServer::Options options;
  options.connection.stream_credit_bytes = options.connection.stream_credit_bytes_max = 1'000'000;
  ListenAndConnect(options,
                   [](TestUser& server) { server.grants = [](moqt::StreamId) { return false; }; });
  ChunkPool pool(8 * 1024 * 1024);
  client_user_->Open(kClientUni);
  for (int i = 0; i < 4; ++i) {
    const std::vector<std::byte> part(kChunkBytesMax, static_cast<std::byte>(i));
    client_user_->Send(kClientUni, *Bytes::Copy(part, pool), false);
  }
  const size_t chunk_bytes = pool.bytes_used() / 4;
  EXPECT_EQ(pool.bytes_used(), 4 * chunk_bytes);
  ASSERT_TRUE(Until([&] { return server_user_->streams[kClientUni].bytes.size() == 1'000'000; }));
  // Three are acknowledged whole. Of the fourth, some was not even sent.
  ASSERT_TRUE(Until([&] { return pool.bytes_used() == chunk_bytes; }));
  server_user_->Act(moqt::StreamCredit{kClientUni, 1'000'000});
  ASSERT_TRUE(Until([&] { return pool.bytes_used() == 0; }));
  EXPECT_EQ(server_user_->streams[kClientUni].bytes.size(), 4 * kChunkBytesMax);
}

TEST_F(QuicStreamTest, BytesArriveOverIpv6) {
  listen_ = *SocketAddress::Resolve("[::1]:0");
  ListenAndConnect({}, [](TestUser& server) { server.echoes = true; });
  EXPECT_TRUE(client_->connection().remote().is_v6());
  const Bytes bytes = RandomBytes(5'000'000);
  client_user_->Open(kClientBidi);
  client_user_->Send(kClientBidi, bytes, true);
  ASSERT_TRUE(Until([&] { return client_user_->streams[kClientBidi].fin; }));
  EXPECT_TRUE(client_user_->streams[kClientBidi].bytes == bytes.ToString());
}

}  // namespace
}  // namespace kvcast
