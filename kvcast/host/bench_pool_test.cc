#include "kvcast/host/bench_pool.h"

#include <gtest/gtest.h>

#include <cstring>
#include <set>

#include "kvcast/client/ladder.h"
#include "kvcast/host/bench_room.h"

namespace kvcast {
namespace {

class BenchPoolTest : public testing::Test {
 protected:
  // Publishes a block at a rung into the first place of the room, without a node between.
  void Carry(Rung rung, uint64_t number) {
    const Ladder ladder(model_.halves, *pool_->Calibrate(/*bands=*/false));
    const uint64_t blocks[] = {number};
    const PromptPages from = *pool_->Pages(blocks);
    const PromptPages to = *room_->Pages(1);
    const auto codec = *ladder.Encoder(rung, from);
    const std::vector<Bytes> objects = codec->EncodeBlock(from.Block(0));
    bytes_ = 0;
    for (const Bytes& object : objects) {
      bytes_ += object.size();
    }
    BlockView view = to.Block(0);
    ASSERT_FALSE(codec->DecodeSeveral(objects, 0, view).fault);
  }

  const BenchModel model_ = *BenchModel::Of("tinylm", 32, Digest());
  const std::unique_ptr<BenchPool> pool_ = *BenchPool::Make(model_, size_t{1} << 20, 1);
  const std::unique_ptr<BenchRoom> room_ = *BenchRoom::Make(*pool_, 2);
  size_t bytes_ = 0;  // Of what was carried.
};

TEST_F(BenchPoolTest, GivesABlockTheSamePagesAlwaysAndAnotherOneOthers) {
  const BenchModel model = *BenchModel::Of("tinylm", 128, Digest());
  const auto pool = *BenchPool::Make(model, size_t{1} << 20, 1);
  ASSERT_EQ(pool->pages_per_block(), 8U);
  std::set<std::vector<uint32_t>> seen;
  for (uint64_t number = 0; number < 200; ++number) {
    EXPECT_EQ(pool->PagesOf(number), pool->PagesOf(number));
    seen.insert(pool->PagesOf(number));
  }
  EXPECT_EQ(seen.size(), 200U);
}

TEST_F(BenchPoolTest, HasTheSameValuesForTheSameSeed) {
  const auto again = *BenchPool::Make(model_, size_t{1} << 20, 1);
  const auto other = *BenchPool::Make(model_, size_t{1} << 20, 2);
  const auto equal = [&](const BenchPool& pool) {
    const auto a = pool_->PageValues(3, 5, Plane::kValue);
    const auto b = pool.PageValues(3, 5, Plane::kValue);
    return std::memcmp(a.data(), b.data(), a.size()) == 0;
  };
  EXPECT_TRUE(equal(*again));
  EXPECT_FALSE(equal(*other));
}

TEST_F(BenchPoolTest, TellsWhatCameFromWhatDidNot) {
  EXPECT_FALSE(room_->IsExactly(0, 7));
  Carry(Rung::kBf16, 7);
  EXPECT_TRUE(room_->IsExactly(0, 7));
  EXPECT_FALSE(room_->IsExactly(0, 8));
  EXPECT_FALSE(room_->IsExactly(1, 7));
  room_->Spoil(1);
  EXPECT_FALSE(room_->IsExactly(0, 7));
}

// Lossless coding lives on exponents being alike: noise would not get smaller.
TEST_F(BenchPoolTest, HasValuesThatCodecsMakeSmaller) {
  Carry(Rung::kBf16Lossless, 7);
  EXPECT_TRUE(room_->IsExactly(0, 7));
  const double bits =
      16.0 * static_cast<double>(bytes_) / static_cast<double>(model_.block_bytes());
  EXPECT_GT(bits, 9.0);
  EXPECT_LT(bits, 13.0);
}

TEST_F(BenchPoolTest, TellsALossyBlockFromAnotherOne) {
  for (const Rung rung : {Rung::kInt8, Rung::kFp8, Rung::kInt4, Rung::kFp4}) {
    Carry(rung, 7);
    EXPECT_GT(room_->ErrorOf(0, 7), 0) << ToString(rung);
    EXPECT_LT(room_->ErrorOf(0, 7), 0.3) << ToString(rung);
    EXPECT_GT(room_->ErrorOf(0, 8), 1.0) << ToString(rung);
  }
}

}  // namespace
}  // namespace kvcast
