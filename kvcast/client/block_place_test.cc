#include "kvcast/client/block_place.h"

#include <gtest/gtest.h>

#include "kvcast/client/client_pair_test.h"

namespace kvcast {
namespace {

using std::chrono::milliseconds;

// An index of two nodes, filled by hand.
class Places : public testing::Test {
 protected:
  Places() {
    for (uint8_t number = 0; number < 2; ++number) {
      refs_.push_back(*index_.OpenNode());
      nodes_[refs_.back()] = {std::byte{number}};
    }
  }
  void Add(size_t node, uint8_t generation, Rung rung, size_t first, size_t count) {
    const TrackName track = TestKind(rung).TrackOf(blocks_.back(), {std::byte{generation}}).Name();
    const TrackRef ref = *index_.OpenTrack(refs_[node], tracks_++, track);
    for (size_t block = first; block < first + count; ++block) {
      ASSERT_TRUE(index_.Add(ref, block, blocks_[block], 1000).ok());
    }
  }
  std::vector<BlockPlace> Of(const std::vector<Rung>& rungs, size_t first = 0,
                             const std::optional<Generation>& generation = {}) {
    return PlacesOf(index_, nodes_, blocks_, TestKind(), rungs, first, generation, pace_, now_);
  }

  PrefixIndex index_;
  NodeIds nodes_;
  std::vector<NodeRef> refs_;
  uint32_t tracks_ = 0;
  std::vector<BlockHash> blocks_ = TestBlocks(12);
  NodePace pace_;
  Instant now_ = Instant() + std::chrono::hours(1);
};

TEST_F(Places, AreNamedOfEachBlockAtEachRung) {
  Add(0, 1, Rung::kBf16, 0, 2);
  Add(1, 1, Rung::kBf16, 1, 1);  // It holds that, too.
  Add(1, 2, Rung::kInt8, 0, 3);
  const std::vector<BlockPlace> places = Of({Rung::kBf16, Rung::kInt8});
  ASSERT_EQ(places.size(), 6u);
  EXPECT_EQ(places[0].block, 0u);
  EXPECT_EQ(places[0].rung, Rung::kBf16);
  EXPECT_EQ(places[0].node, NodeId{std::byte{0}});
  EXPECT_EQ(places[0].generation, Generation{std::byte{1}});
  EXPECT_EQ(places[0].bytes, 1000u);
  EXPECT_EQ(places[1].rung, Rung::kInt8);
  EXPECT_EQ(places[1].node, NodeId{std::byte{1}});
  EXPECT_EQ(places[1].generation, Generation{std::byte{2}});
  EXPECT_EQ(places[2].block, 1u);
  EXPECT_EQ(places[3].block, 1u);
  EXPECT_NE(places[2].node, places[3].node);
  EXPECT_EQ(places[5].block, 2u);
  EXPECT_EQ(Of({Rung::kBf16, Rung::kInt8}, 2).size(), 1u);
}

TEST_F(Places, EndWhereABlockIsNowhere) {
  Add(0, 1, Rung::kBf16, 0, 2);
  Add(0, 2, Rung::kBf16, 3, 2);
  EXPECT_EQ(Of({Rung::kBf16}).size(), 2u);
  EXPECT_EQ(Of({Rung::kInt8}).size(), 0u);
  EXPECT_EQ(Of({Rung::kBf16}, 12).size(), 0u);
}

TEST_F(Places, AreFewThoughManyPublishTheSame) {
  for (uint8_t generation = 0; generation < 40; ++generation) {
    Add(0, generation, Rung::kBf16, 0, 1);
  }
  EXPECT_EQ(Of({Rung::kBf16}).size(), 16u);
}

// However many others publish the same, and wherever those have what this one lacks.
TEST_F(Places, AreOfTheGenerationThatIsAskedForAlone) {
  for (uint8_t generation = 0; generation < 40; ++generation) {
    Add(0, generation, Rung::kBf16, 0, 2);
  }
  Add(0, 39, Rung::kBf16, 3, 2);
  Add(0, 38, Rung::kBf16, 2, 1);
  for (const uint8_t generation : {uint8_t{0}, uint8_t{20}, uint8_t{39}}) {
    const std::vector<BlockPlace> places = Of({Rung::kBf16}, 0, Generation{std::byte{generation}});
    ASSERT_EQ(places.size(), 2u) << +generation;
    EXPECT_EQ(places[1].block, 1u);
    EXPECT_EQ(places[1].generation, Generation{std::byte{generation}});
  }
}

TEST_F(Places, TellWhatTheyTakeOnceTheNodeIsKnown) {
  Add(0, 1, Rung::kBf16, 0, 1);
  EXPECT_FALSE(Of({Rung::kBf16})[0].time.has_value());
  pace_.OnAsked(100'000, now_);
  for (size_t i = 0; i < 100; ++i) {
    now_ += milliseconds(1);
    pace_.OnBytes(Rung::kBf16, 1000, now_);
  }
  EXPECT_EQ(Of({Rung::kBf16})[0].time, milliseconds(1));
}

// Whose catalog it is that lists a block, also when the node has started anew.
TEST(ClientPlaces, NameTheNode) {
  const std::vector<BlockHash> blocks = TestBlocks(kBlocks);
  const EngineMemory memory(kBlocks, 1);
  ClientPair pair;
  pair.node().Hold(memory, blocks, 0, 2, /*generation=*/7);
  pair.Run();
  for (int run = 0; run < 2; ++run) {
    const std::vector<BlockPlace> places = pair.client().Places(blocks, 0, {}, {}, pair.now());
    ASSERT_EQ(places.size(), 2u);
    EXPECT_EQ(places[1].node, NodeId{});  // The scripted one's.
    EXPECT_EQ(places[1].generation, Generation{std::byte{7}});
    pair.node().Restart(static_cast<uint8_t>(2 + run));
    pair.Run();
    EXPECT_TRUE(pair.client().Places(blocks, 0, {}, {}, pair.now()).empty());
    pair.node().Hold(memory, blocks, 0, 2, /*generation=*/7);
    pair.Run();
  }
}

}  // namespace
}  // namespace kvcast
