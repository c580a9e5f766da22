#include "kvcast/base/bytes.h"

#include <gtest/gtest.h>

#include <vector>

#include "kvcast/base/random.h"

namespace kvcast {
namespace {

TEST(Bytes, AreCutIntoChunksOfBoundedSize) {
  const std::string text(kChunkBytesMax * 2 + 1, 'x');
  const Bytes bytes = Bytes::Of(text);
  EXPECT_EQ(bytes.piece_count(), 3u);
  EXPECT_EQ(bytes.ToString(), text);
}

TEST(Bytes, SlicesShareAndDoNotCopy) {
  const Bytes whole = Bytes::Of("prefill once, load anywhere");
  const Bytes slice = whole.Slice(8, 4);
  EXPECT_EQ(slice.ToString(), "once");
  EXPECT_EQ(slice.piece(0).data(), whole.piece(0).data() + 8);
}

TEST(Bytes, OutliveTheOnesTheyWereSlicedFrom) {
  Bytes slice;
  { slice = Bytes::Of("short-lived").Slice(6, 5); }
  EXPECT_EQ(slice.ToString(), "lived");
}

TEST(Bytes, AreEqualByContentHoweverTheyAreCut) {
  Bytes joined = Bytes::Of("ab");
  joined.Append(Bytes::Of("cd"));
  EXPECT_EQ(joined, Bytes::Of("abcd"));
  EXPECT_FALSE(joined == Bytes::Of("abce"));
  EXPECT_FALSE(joined == Bytes::Of("abc"));
  EXPECT_EQ(Bytes(), Bytes::Of(""));
}

TEST(Bytes, AreEmptyOnceTheyWereMovedFrom) {
  Bytes a = Bytes::Of("first");
  const Bytes b = std::move(a);
  EXPECT_TRUE(a.empty());         // NOLINT: looking at it is the point,
  a.Append(Bytes::Of("second"));  // NOLINT: and using it again.
  EXPECT_EQ(a.ToString(), "second");
  EXPECT_EQ(b.ToString(), "first");
}

TEST(Bytes, MayBeAppendedToThemselves) {
  Bytes bytes = Bytes::Of("ab");
  bytes.Append(bytes);
  bytes.Append(bytes);
  EXPECT_EQ(bytes.ToString(), "abababab");
}

// Whatever is sliced and joined, the content is what the same steps give on a string.
TEST(Bytes, BehaveLikeAString) {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    Random random(seed);
    Bytes bytes;
    std::string model;
    for (int step = 0; step < 30; ++step) {
      if (random.Happens(0.6)) {
        const std::string more(random.Below(20), static_cast<char>('a' + random.Below(26)));
        bytes.Append(Bytes::Of(more));
        model += more;
      } else {
        const size_t offset = random.Below(model.size() + 1);
        const size_t length = random.Below(model.size() - offset + 1);
        bytes = bytes.Slice(offset, length);
        model = model.substr(offset, length);
      }
      ASSERT_EQ(bytes.ToString(), model) << "seed " << seed;
      ASSERT_EQ(bytes, Bytes::Of(model)) << "seed " << seed;
    }
  }
}

// Copies share their list of pieces until one of them grows.
TEST(Bytes, GrowWithoutTheirCopies) {
  Bytes bytes;
  for (const std::string_view piece : {"one ", "two ", "three "}) {
    bytes.Append(Bytes::Of(piece));
  }
  Bytes copy = bytes;
  copy.Append(Bytes::Of("four"));
  bytes.Append(Bytes::Of("for"));
  EXPECT_EQ(copy.ToString(), "one two three four");
  EXPECT_EQ(bytes.ToString(), "one two three for");
  EXPECT_EQ(copy.piece(1).data(), bytes.piece(1).data());
}

TEST(Bytes, SayWhatMemoryTheyKeep) {
  EXPECT_EQ(Bytes().memory_bytes(), 0u);
  const Bytes whole = Bytes::Of(std::string(1000, 'x'));
  const size_t header = whole.memory_bytes() - 1000;
  EXPECT_LE(header, 64u);
  Bytes twice = whole.Slice(0, 10);
  EXPECT_EQ(twice.memory_bytes(), whole.memory_bytes());
  twice.Append(whole.Slice(500, 10));
  EXPECT_LE(twice.memory_bytes(), whole.memory_bytes() + 64);  // One chunk, and a list of pieces.
  EXPECT_GT(twice.memory_bytes(), whole.memory_bytes());
}

TEST(Bytes, AreCopiedIntoAPoolForAsLongAsItHasRoom) {
  ChunkPool pool(500 * 1024);
  const std::string text(300 * 1024, 'x');
  std::optional<Bytes> first = Bytes::Copy(AsBytes(text), pool);
  ASSERT_TRUE(first.has_value());
  EXPECT_EQ(first->ToString(), text);
  EXPECT_GT(pool.bytes_used(), text.size());
  EXPECT_FALSE(Bytes::Copy(AsBytes(text), pool).has_value());
  first.reset();
  EXPECT_EQ(pool.bytes_used(), 0u);
  EXPECT_TRUE(Bytes::Copy(AsBytes(text), pool).has_value());
}

TEST(Bytes, WasteLittleOfAPool) {
  ChunkPool pool(4 << 20);
  for (const size_t size :
       {1u, 255u, 257u, 5000u, 160u * 1024, 160u * 1024 + 300, 300u * 1024, 2u << 20}) {
    const std::string text(size, 'x');
    const Bytes copy = *Bytes::Copy(AsBytes(text), pool);
    EXPECT_EQ(copy.ToString(), text);
    EXPECT_LE(pool.bytes_used(), size + size / 8 + 16 * 1024) << size;
  }
}

TEST(BytesDeathTest, StopsOnASliceThatIsNotThere) {
  EXPECT_DEATH(Bytes::Of("abc").Slice(2, 2), "check failed");
}

}  // namespace
}  // namespace kvcast
