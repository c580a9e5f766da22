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

}  // namespace
}  // namespace kvcast
