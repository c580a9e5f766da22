#include "kvcast/relay/expiry_book.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "kvcast/base/random.h"
#include "kvcast/store/heap_bytes_test.h"

namespace kvcast::relay {
namespace {

using std::chrono::seconds;

TrackName Name(std::string_view name) { return *TrackName::Of(*TrackNamespace::Of({"a"}), name); }
Instant At(int64_t s) { return Instant() + seconds(s); }

TEST(ExpiryBook, GivesWhatIsDueInOrderAcrossTracksAndGroups) {
  ExpiryBook book;
  EXPECT_FALSE(book.next().has_value());
  book.Add(Name("t"), {0, 0}, At(5));
  book.Add(Name("u"), {3, 1}, At(2));
  book.Add(Name("t"), {0, 1}, At(7));
  book.Add(Name("t"), {0, 2}, At(6));  // Another publisher's, who wants it kept for less.
  book.Add(Name("t"), {1, 0}, At(9));
  EXPECT_EQ(book.next(), At(2));
  std::vector<Location> due;
  while (const auto expired = book.TakeDue(At(7))) {
    due.push_back({expired->group, expired->object.value()});
  }
  EXPECT_EQ(due, (std::vector<Location>{{3, 1}, {0, 0}, {0, 2}, {0, 1}}));
  EXPECT_EQ(book.next(), At(9));
  EXPECT_EQ(book.TakeDue(At(9))->track, Name("t"));
  EXPECT_FALSE(book.next().has_value());
}

// It is part of the memory for blocks, so it must know what it takes.
TEST(ExpiryBook, CountsEveryByte) {
  Random random(7);
  ExpiryBook book;
  const size_t before = HeapBytes();
  std::vector<TrackName> names;
  for (int i = 0; i < 8; ++i) {
    names.push_back(Name("a name too long for the string itself " + std::to_string(i)));
  }
  const size_t ours = HeapBytes() - before;
  for (int step = 0; step < 3000; ++step) {
    const TrackName& track = names[random.Below(names.size())];
    const uint64_t group = random.Below(6);
    const Instant at = At(static_cast<int64_t>(random.Below(1000)));
    switch (random.Below(6)) {
      case 0:
        book.Forget(track, group);
        break;
      case 1:
        book.Join(track, group);
        break;
      case 2:
        (void)book.TakeDue(At(static_cast<int64_t>(random.Below(400))));
        break;
      case 3:
        book.AddGroup(track, group, at);
        break;
      default:
        book.Add(track, {group, random.Below(100)}, at);
    }
    ASSERT_EQ(HeapBytes() - before - ours, book.bytes()) << step;
  }
}

TEST(ExpiryBook, ForgetsAGroupAltogether) {
  ExpiryBook book;
  book.Add(Name("t"), {0, 0}, At(5));
  book.Add(Name("t"), {0, 1}, At(6));
  book.Add(Name("t"), {1, 0}, At(8));
  book.Forget(Name("t"), 0);
  book.Forget(Name("t"), 7);
  book.Forget(Name("u"), 0);
  EXPECT_EQ(book.next(), At(8));
  book.Forget(Name("t"), 1);
  EXPECT_FALSE(book.TakeDue(At(100)).has_value());
}

// There is no removing one object from a disk: the first that is due takes the others along.
TEST(ExpiryBook, GivesAGroupThatWasJoinedAsAWhole) {
  ExpiryBook book;
  book.Add(Name("t"), {0, 0}, At(5));
  book.Add(Name("t"), {0, 1}, At(6));
  book.Join(Name("t"), 0);
  book.Join(Name("t"), 1);  // Nothing is known of it.
  book.Add(Name("t"), {0, 2}, At(7));
  book.AddGroup(Name("t"), 0, At(8));
  EXPECT_EQ(book.next(), At(5));
  book.AddGroup(Name("t"), 0, At(4));
  book.Add(Name("t"), {0, 3}, At(3));
  EXPECT_FALSE(book.TakeDue(At(2)).has_value());
  const auto expired = book.TakeDue(At(9));
  ASSERT_TRUE(expired.has_value());
  EXPECT_EQ(expired->group, 0u);
  EXPECT_FALSE(expired->object.has_value());
  EXPECT_FALSE(book.next().has_value());
  book.Add(Name("t"), {0, 0}, At(10));  // It has come again, and is no longer joined.
  EXPECT_EQ(book.TakeDue(At(10))->object, 0u);
}

}  // namespace
}  // namespace kvcast::relay
