#include "kvcast/engine/lossy_blocks.h"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

namespace kvcast {
namespace {

std::vector<BlockHash> Names(size_t count, uint64_t first = 0) {
  std::vector<BlockHash> names(count);
  for (size_t i = 0; i < count; ++i) {
    const uint64_t number = first + i;
    std::memcpy(names[i].bytes.data(), &number, sizeof(number));
  }
  return names;
}

TEST(LossyBlocks, CountAsTheLeastThatTheyEverCameAs) {
  LossyBlocks blocks;
  const std::vector<BlockHash> names = Names(4);
  EXPECT_EQ(blocks.LeastTrue(names), std::nullopt);
  blocks.Add(names[2], Rung::kInt8);
  blocks.Add(names[1], Rung::kBf16);
  EXPECT_EQ(blocks.LeastTrue(names), Rung::kInt8);
  EXPECT_EQ(blocks.PublishedAt(Rung::kBf16, names, 0).blocks, 2u);
  EXPECT_EQ(blocks.PublishedAt(Rung::kBf16, names, 0).came, Rung::kInt8);
  EXPECT_EQ(blocks.PublishedAt(Rung::kBf16, names, 3).blocks, 4u);
  EXPECT_EQ(blocks.PublishedAt(Rung::kInt8, names, 0).blocks, 4u);
  blocks.Add(names[2], Rung::kInt4);
  blocks.Add(names[2], Rung::kBf16Lossless);  // Other pages may have it still.
  EXPECT_EQ(blocks.LeastTrue(names), Rung::kInt4);
  EXPECT_EQ(blocks.PublishedAt(Rung::kInt8, names, 0).blocks, 2u);
}

TEST(LossyBlocks, CountWhileALoadMayBringThem) {
  LossyBlocks blocks;
  const std::vector<BlockHash> names = Names(2);
  blocks.Expected(names, Rung::kInt8);
  blocks.Expected(names, Rung::kInt4);
  EXPECT_EQ(blocks.LeastTrue(names), Rung::kInt4);
  blocks.Settled(names);
  EXPECT_EQ(blocks.LeastTrue(names), Rung::kInt4);  // Of two loads, who knows which is over.
  blocks.Settled(names);
  EXPECT_EQ(blocks.LeastTrue(names), std::nullopt);
}

// Memory is bounded, and what came last is never what is forgotten.
TEST(LossyBlocks, AreForgottenWhenManyOthersHaveCome) {
  LossyBlocks blocks;
  const std::vector<BlockHash> names = Names(3 * LossyBlocks::kRememberedMin);
  for (const BlockHash& name : names) {
    blocks.Add(name, Rung::kInt8);
  }
  const std::span all(names);
  EXPECT_EQ(blocks.LeastTrue(all.first(1)), std::nullopt);
  EXPECT_EQ(blocks.PublishedAt(Rung::kBf16, all.last(LossyBlocks::kRememberedMin), 0).blocks, 0u);
}

TEST(LossyBlocks, AreThoseOfAllWhoHaveTheSamePagesOpen) {
  const int memory = 0;
  const int elsewhere = 0;
  EXPECT_EQ(LossyBlocks::Known(&memory, Digest()), nullptr);
  const auto one = LossyBlocks::Of(&memory, Digest());
  EXPECT_EQ(LossyBlocks::Of(&memory, Digest()), one);
  EXPECT_EQ(LossyBlocks::Known(&memory, Digest()), one);
  EXPECT_NE(LossyBlocks::Of(&elsewhere, Digest()), one);
  EXPECT_NE(LossyBlocks::Of(&memory, Sha256::Of("another model")), one);
}

TEST(LossyBlocks, AreForgottenWithTheLastWhoHasThePagesOpen) {
  const int memory = 0;
  auto one = LossyBlocks::Of(&memory, Digest());
  one->Add(Names(1)[0], Rung::kInt8);
  auto other = LossyBlocks::Of(&memory, Digest());
  one.reset();
  EXPECT_EQ(other->LeastTrue(Names(1)), Rung::kInt8);
  other.reset();
  EXPECT_EQ(LossyBlocks::Known(&memory, Digest()), nullptr);
  EXPECT_EQ(LossyBlocks::Of(&memory, Digest())->LeastTrue(Names(1)), std::nullopt);
}

}  // namespace
}  // namespace kvcast
