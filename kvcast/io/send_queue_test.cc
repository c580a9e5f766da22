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
