#include "kvcast/io/send_queue.h"

#include <gtest/gtest.h>

#include <array>
#include <string>

namespace kvcast {
namespace {

std::string Gathered(const SendQueue& queue, size_t bytes_wanted) {
  std::array<ngtcp2_vec, 4> pieces{};
  const auto gathered = queue.Gather(pieces, bytes_wanted);
  std::string text;
  for (size_t i = 0; i < gathered.pieces; ++i) {
    text.append(reinterpret_cast<const char*>(pieces[i].base), pieces[i].len);
  }
  EXPECT_EQ(text.size(), gathered.bytes);
  return text + (gathered.end ? "." : "");
}

// Nothing is copied on its way to the packet, and nothing allocated.
TEST(SendQueue, PointsToTheBytesThatItWasGiven) {
  ChunkPool pool(1024 * 1024);
  const Bytes bytes = *Bytes::Copy(AsBytes(std::string(300'000, 'x')), pool);
  const size_t used = pool.bytes_used();
  SendQueue queue;
  queue.Append(bytes);
  queue.Append(bytes.Slice(10, 20));
  std::array<ngtcp2_vec, 8> pieces;
  ASSERT_EQ(queue.Gather(pieces, 1'000'000).pieces, bytes.piece_count() + 1);
  for (size_t i = 0; i < bytes.piece_count(); ++i) {
    EXPECT_EQ(static_cast<const void*>(pieces[i].base), bytes.piece(i).data());
  }
  EXPECT_EQ(static_cast<const void*>(pieces[bytes.piece_count()].base), bytes.piece(0).data() + 10);
  EXPECT_EQ(pool.bytes_used(), used);
}

TEST(SendQueue, GivesWhatIsNotSentYetAndThenTheEnd) {
  SendQueue queue;
  queue.Append(Bytes::Of("abc"));
  queue.Append(Bytes::Of("defg"));
  EXPECT_EQ(Gathered(queue, 100), "abcdefg");
  queue.Sent(4, false);
  EXPECT_EQ(Gathered(queue, 100), "efg");
  queue.Finish();
  EXPECT_EQ(Gathered(queue, 100), "efg.");
  queue.Sent(3, false);
  EXPECT_EQ(Gathered(queue, 100), ".");
  EXPECT_TRUE(queue.HasUnsent());
  queue.Sent(0, true);
  EXPECT_FALSE(queue.HasUnsent());
}

// QUIC may have to send it again, from where it was.
TEST(SendQueue, KeepsWhatIsNotAcknowledgedWhereItIs) {
  const Bytes bytes = Bytes::Of("abc");
  SendQueue queue;
  queue.Append(bytes);
  std::array<ngtcp2_vec, 4> pieces{};
  ASSERT_EQ(queue.Gather(pieces, 100).pieces, 1U);
  EXPECT_EQ(static_cast<const void*>(pieces[0].base), bytes.piece(0).data());
  queue.Sent(3, false);
  queue.Acknowledge(2);
  queue.Append(Bytes::Of("de"));
  queue.Acknowledge(3);
  EXPECT_EQ(Gathered(queue, 100), "de");
}

TEST(SendQueue, DropsOnlyWhatWasNotSent) {
  SendQueue queue;
  queue.Append(Bytes::Of("abc"));
  queue.Append(Bytes::Of("def"));
  queue.Sent(1, false);
  queue.DropUnsent();
  EXPECT_FALSE(queue.HasUnsent());
  EXPECT_EQ(queue.unsent_bytes(), 0U);
  queue.Acknowledge(1);
  EXPECT_EQ(Gathered(queue, 100), "");
}

TEST(SendQueue, AnEmptyStreamHasAnEnd) {
  SendQueue queue;
  EXPECT_FALSE(queue.HasUnsent());
  queue.Append(Bytes());
  queue.Finish();
  EXPECT_EQ(Gathered(queue, 100), ".");
}

}  // namespace
}  // namespace kvcast
