#include "kvcast/client/prompt_pages.h"

#include <gtest/gtest.h>

#include "kvcast/client/client_pair_test.h"

namespace kvcast {
namespace {

const Slice kFirstLayer{IndexRange{0, 0}, {}};

// The memory of a rank that has the first layer's heads from `first` on, so many of them.
class RankMemory {
 public:
  explicit RankMemory(uint32_t heads) : shape_({{heads, 3, 3}}, kTestBlockTokens) {
    for (std::vector<std::byte>& buffer : buffers_) {
      buffer.resize(kBlocks * kTestBlockTokens * heads * 3 * 2);
    }
    cache_.emplace(*PagedCache::Of(shape_,
                                   {PageOrder::kNhd, KvPlacement::kApart, kTestBlockTokens, 2},
                                   std::vector<LayerMemory>{{buffers_[0], buffers_[1], 0}}));
    for (uint32_t page = 0; page < kBlocks; ++page) {
      table_.push_back(page);
    }
  }
  Result<PromptPages> Pages(const Slice& slice) const {
    return PromptPages::OfSlice(*cache_, table_, kTestBlockTokens, kBlocks, slice);
  }

 private:
  BlockShape shape_;
  std::vector<std::byte> buffers_[2];
  std::vector<uint32_t> table_;
  std::optional<PagedCache> cache_;
};

ClientOptions OfSlice(const Slice& slice) {
  return ClientOptions{CacheKind(TestKind().scope(), Rung::kBf16, slice)};
}

// One engine has all of a cache and publishes a layer of it; another has nothing but that layer.
TEST(PromptPages, OfASliceCarryItBetweenEnginesThatHaveMoreOrNoMore) {
  ClientPair pair({}, {}, OfSlice(kFirstLayer));
  const EngineMemory whole(kBlocks, /*seed=*/1);
  const std::vector<BlockHash> blocks = TestBlocks(kBlocks);
  const OperationId publish =
      *pair.client().Publish(blocks, whole.Pages(kFirstLayer), {{std::byte{4}}}, pair.now());
  pair.Run();
  ASSERT_FALSE(pair.Published(publish)->fault.has_value()) << pair.Published(publish)->reason;
  EXPECT_EQ(pair.node().tracks().begin()->first.name(), "BF16;l=0-0");
  const RankMemory rank(2);
  const PromptPages pages = *rank.Pages(kFirstLayer);
  const OperationId load = *pair.client().Load(pair.client().Find(blocks), blocks, pages,
                                               {pair.now() + std::chrono::seconds(9)}, pair.now());
  pair.Run();
  ASSERT_EQ(pair.Loaded(load)->loaded(), kBlocks) << pair.Loaded(load)->reason;
  for (size_t block = 0; block < kBlocks; ++block) {
    const BlockView from = whole.Pages(kFirstLayer).Block(block);
    const BlockView to = pages.Block(block);
    for (uint32_t token = 0; token < kTestBlockTokens; ++token) {
      for (const Plane plane : {Plane::kKey, Plane::kValue}) {
        for (uint32_t head = 0; head < 2; ++head) {
          EXPECT_TRUE(
              std::ranges::equal(from.Row(token, 0, plane, head), to.Row(token, 0, plane, head)));
        }
      }
    }
  }
}

TEST(PromptPages, OfASliceHaveItsLayersAndHeadsAndNoOthers) {
  const RankMemory rank(2);
  EXPECT_TRUE(rank.Pages({IndexRange{7, 7}, IndexRange{4, 5}}).ok());
  EXPECT_TRUE(rank.Pages({}).ok());
  for (const Slice& other :
       {Slice{IndexRange{0, 1}, {}}, Slice{{}, IndexRange{4, 4}}, Slice{{}, IndexRange{0, 2}}}) {
    EXPECT_EQ(rank.Pages(other).error().code(), ErrorCode::kInvalid) << other.Suffix();
  }
  // What a latent is of cannot be told apart by heads.
  const EngineMemory whole(kBlocks, /*seed=*/1);
  EXPECT_FALSE(
      PromptPages::OfSlice(whole.cache(), {0, 1}, kTestBlockTokens, 1, Slice{{}, IndexRange{0, 0}})
          .ok());
}

// A generation that somebody else has drawn is what it is published under, and can be asked for.
TEST(PromptPages, AreFoundUnderTheGenerationThatIsAskedFor) {
  ClientPair pair;
  const EngineMemory memory(kBlocks, /*seed=*/1);
  const std::vector<BlockHash> blocks = TestBlocks(kBlocks);
  pair.node().Hold(memory, blocks, 0, 4, /*generation=*/1);
  pair.node().Hold(memory, blocks, 2, 4, /*generation=*/2);
  pair.Run();
  EXPECT_EQ(pair.client().Find(blocks).block_count(), 6u);
  EXPECT_EQ(pair.client().Find(blocks, 0, {}, Generation{std::byte{1}}).block_count(), 4u);
  EXPECT_EQ(pair.client().Find(blocks, 2, {}, Generation{std::byte{2}}).block_count(), 4u);
  EXPECT_TRUE(pair.client().Find(blocks, 0, {}, Generation{std::byte{3}}).empty());
  // Nor does a load that goes on take anybody else's.
  const EngineMemory target(kBlocks, /*seed=*/2);
  const OperationId load = *pair.client().Load(
      pair.client().Find(blocks, 0, {}, Generation{std::byte{1}}), blocks, target.Pages(),
      {pair.now() + std::chrono::seconds(9), {}, FollowTerms{std::chrono::seconds(1)}}, pair.now());
  pair.Pass(std::chrono::seconds(9));
  EXPECT_EQ(pair.Loaded(load)->loaded(), 4u);
}

}  // namespace
}  // namespace kvcast
