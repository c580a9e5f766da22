#include "kvcast/client/block_shelf.h"

#include <gtest/gtest.h>

#include <array>
#include <string>

namespace kvcast {
namespace {

constexpr std::array<Rung, 2> kWanted = {Rung::kBf16Lossless, Rung::kBf16};

BlockShelf::Block BlockOf(const std::string& payload, Rung rung = Rung::kBf16,
                          std::byte generation = std::byte{1}) {
  Object object;
  object.payload = Bytes::Of(payload);
  BlockShelf::Block block{.track = *TrackName::Parse("a-prefix--track"),
                          .generation = {generation},
                          .rung = rung,
                          .objects = {BlockShelf::Copy(object)}};
  block.bytes = BlockShelf::BytesOf(block.objects.front());
  return block;
}

bool Put(BlockShelf& shelf, BlockShelf::Turn turn, const BlockHash& hash,
         const BlockShelf::Block& block) {
  const bool has_room = shelf.Grow(turn, block.bytes);
  if (has_room) {
    shelf.Put(turn, hash, block);
  }
  return has_room;
}

class Shelf : public testing::Test {
 protected:
  static BlockHash Hash(int number) { return Sha256::Of("block " + std::to_string(number)); }
  bool Has(int number) const { return shelf_.Has(Hash(number), kWanted, {}); }

  const BlockShelf::Block block_ = BlockOf(std::string(1000, 'x'));
  BlockShelf shelf_{3 * block_.bytes};
};

TEST_F(Shelf, GivesABlockOnce) {
  ASSERT_TRUE(Put(shelf_, shelf_.Begin(), Hash(1), block_));
  EXPECT_TRUE(Has(1));
  const auto taken = shelf_.Take(Hash(1), kWanted, {});
  ASSERT_TRUE(taken.has_value());
  EXPECT_EQ(taken->objects.front().payload, Bytes::Of(std::string(1000, 'x')));
  EXPECT_FALSE(Has(1));
  EXPECT_FALSE(shelf_.Take(Hash(1), kWanted, {}).has_value());
  EXPECT_EQ(shelf_.bytes(), 0u);
}

TEST_F(Shelf, GivesTheFirstOfTheRungsAndOnlyThose) {
  const BlockShelf::Turn turn = shelf_.Begin();
  ASSERT_TRUE(Put(shelf_, turn, Hash(1), BlockOf("plain")));
  ASSERT_TRUE(Put(shelf_, turn, Hash(1), BlockOf("small", Rung::kBf16Lossless)));
  ASSERT_TRUE(Put(shelf_, turn, Hash(2), BlockOf("lossy", Rung::kFp8)));
  EXPECT_FALSE(Has(2));
  EXPECT_EQ(shelf_.Take(Hash(1), kWanted, {})->rung, Rung::kBf16Lossless);
  EXPECT_EQ(shelf_.Take(Hash(1), kWanted, {})->rung, Rung::kBf16);
}

TEST_F(Shelf, KeepsToAGenerationThatIsNamed) {
  ASSERT_TRUE(Put(shelf_, shelf_.Begin(), Hash(1), block_));
  EXPECT_FALSE(shelf_.Has(Hash(1), kWanted, Generation{std::byte{2}}));
  EXPECT_TRUE(shelf_.Has(Hash(1), kWanted, Generation{std::byte{1}}));
}

TEST_F(Shelf, LetsTheOldestGoForALaterTurn) {
  const BlockShelf::Turn first = shelf_.Begin();
  const BlockShelf::Turn second = shelf_.Begin();
  ASSERT_TRUE(Put(shelf_, second, Hash(9), block_));
  ASSERT_TRUE(Put(shelf_, first, Hash(1), block_));
  ASSERT_TRUE(Put(shelf_, first, Hash(2), block_));
  ASSERT_TRUE(Put(shelf_, second, Hash(10), block_));
  EXPECT_FALSE(Has(1));
  EXPECT_TRUE(Has(2));
  ASSERT_TRUE(Put(shelf_, second, Hash(11), block_));
  EXPECT_FALSE(Has(2));
  EXPECT_EQ(shelf_.bytes(), shelf_.bytes_max());
}

// A prefix is worth its beginning.
TEST_F(Shelf, LetsNothingGoForTheTurnThatBroughtItOrALaterOne) {
  const BlockShelf::Turn first = shelf_.Begin();
  const BlockShelf::Turn second = shelf_.Begin();
  for (int number = 1; number <= 3; ++number) {
    ASSERT_TRUE(Put(shelf_, second, Hash(number), block_));
  }
  EXPECT_FALSE(Put(shelf_, second, Hash(4), block_));
  EXPECT_FALSE(Put(shelf_, first, Hash(5), block_));
  EXPECT_TRUE(Has(1) && Has(2) && Has(3));
}

TEST_F(Shelf, CountsWhatIsStillComing) {
  const BlockShelf::Turn turn = shelf_.Begin();
  ASSERT_TRUE(shelf_.Grow(turn, shelf_.bytes_max()));
  EXPECT_EQ(shelf_.bytes(), shelf_.bytes_max());
  EXPECT_FALSE(Put(shelf_, turn, Hash(1), block_));
  shelf_.Shrink(shelf_.bytes_max());
  EXPECT_TRUE(Put(shelf_, turn, Hash(1), block_));
  EXPECT_FALSE(shelf_.Grow(turn, UINT64_MAX));
}

}  // namespace
}  // namespace kvcast
