#include "kvcast/kv/prefix_index.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <tuple>

#include "kvcast/base/random.h"
#include "kvcast/base/sanitized_test.h"
#include "kvcast/kv/held_bytes_test.h"

namespace kvcast {
namespace {

BlockHash HashOf(uint64_t number) { return Sha256::Of("block " + std::to_string(number)); }

std::vector<BlockHash> Hashes(size_t count) {
  std::vector<BlockHash> hashes;
  for (size_t i = 0; i < count; ++i) {
    hashes.push_back(HashOf(i));
  }
  return hashes;
}

// As long as a real one: four fields and a rung.
TrackName NameOf(uint64_t number) {
  const Digest prefix = Sha256::Of("prefix " + std::to_string(number));
  const std::string_view fields[] = {"moq://kvcache.moq.arpa/v1/",
                                     "tenant/meta-llama/Llama-3.1-70B@0123456789abcdef",
                                     AsText(prefix.bytes), AsText(prefix.bytes).substr(0, 16)};
  return *TrackName::Of(*TrackNamespace::Of(fields), "BF16-lossless");
}

TEST(PrefixIndex, FindsTheLongestPrefixSomebodyHas) {
  PrefixIndex index;
  const NodeRef node = *index.OpenNode();
  const TrackRef track = *index.OpenTrack(node, 1, NameOf(1));
  for (uint64_t group = 0; group < 3; ++group) {
    ASSERT_TRUE(index.Add(track, group, HashOf(group), 100).ok());
  }
  const PrefixMatch match = index.LongestMatch(Hashes(5));
  EXPECT_EQ(match.leading(), 3u);
  EXPECT_EQ(match.end(), 3u);
  EXPECT_EQ(index.Sources(match, 2), (std::vector<BlockSource>{{node, NameOf(1), 2, 100}}));
  EXPECT_TRUE(index.Sources(match, 3).empty());
}

// Whoever computes the missing block can still load those after it.
TEST(PrefixIndex, LooksPastHoles) {
  PrefixIndex index;
  const TrackRef track = *index.OpenTrack(*index.OpenNode(), 1, NameOf(1));
  for (const uint64_t group : {0u, 1u, 3u, 4u}) {
    ASSERT_TRUE(index.Add(track, group, HashOf(group), 100).ok());
  }
  const PrefixMatch match = index.LongestMatch(Hashes(9));
  EXPECT_EQ(match.leading(), 2u);
  EXPECT_EQ(match.end(), 5u);
  EXPECT_FALSE(match.Has(2));
  EXPECT_TRUE(match.Has(3));
}

TEST(PrefixIndex, KeepsEverySourceOfABlock) {
  PrefixIndex index;
  const NodeRef a = *index.OpenNode();
  const NodeRef b = *index.OpenNode();
  const TrackRef on_a = *index.OpenTrack(a, 1, NameOf(1));
  const TrackRef on_b = *index.OpenTrack(b, 1, NameOf(1));
  const TrackRef other = *index.OpenTrack(b, 2, NameOf(2));
  for (const TrackRef track : {on_a, on_b, other}) {
    ASSERT_TRUE(index.Add(track, 0, HashOf(0), 100).ok());
  }
  EXPECT_EQ(index.Sources(index.LongestMatch(Hashes(1)), 0).size(), 3u);
  index.CloseTrack(other);
  EXPECT_EQ(index.Sources(index.LongestMatch(Hashes(1)), 0).size(), 2u);
  index.CloseNode(b);
  const std::vector<BlockSource> left = index.Sources(index.LongestMatch(Hashes(1)), 0);
  EXPECT_EQ(left, (std::vector<BlockSource>{{a, NameOf(1), 0, 100}}));
  index.CloseNode(a);
  EXPECT_EQ(index.LongestMatch(Hashes(1)).leading(), 0u);
  EXPECT_EQ(index.block_count() + index.source_count() + index.track_count(), 0u);
}

TEST(PrefixIndex, FindsATrackByWhatItsNodeCallsIt) {
  PrefixIndex index;
  const NodeRef a = *index.OpenNode();
  const NodeRef b = *index.OpenNode();
  const TrackRef on_a = *index.OpenTrack(a, 7, NameOf(1));
  const TrackRef on_b = *index.OpenTrack(b, 7, NameOf(2));
  EXPECT_EQ(index.FindTrack(a, 7), on_a);
  EXPECT_EQ(index.FindTrack(b, 7), on_b);
  EXPECT_FALSE(index.FindTrack(a, 8).has_value());
  index.CloseTracks(a);
  EXPECT_FALSE(index.FindTrack(a, 7).has_value());
  EXPECT_EQ(index.FindTrack(b, 7), on_b);
  EXPECT_TRUE(index.OpenTrack(a, 7, NameOf(3)).ok());
}

TEST(PrefixIndex, RefusesAGroupAsAnotherBlock) {
  PrefixIndex index;
  const TrackRef track = *index.OpenTrack(*index.OpenNode(), 1, NameOf(1));
  ASSERT_TRUE(index.Add(track, 0, HashOf(0), 100).ok());
  EXPECT_TRUE(index.Add(track, 0, HashOf(0), 100).ok());
  EXPECT_EQ(index.Add(track, 0, HashOf(1), 100).error().code(), ErrorCode::kMismatch);
  EXPECT_EQ(index.Add(track, uint64_t{1} << 32, HashOf(1), 1).error().code(), ErrorCode::kTooLarge);
  EXPECT_EQ(index.source_count(), 1u);
}

TEST(PrefixIndexDeathTest, DoesNotAnswerFromAMatchThatIsOver) {
  PrefixIndex index;
  const TrackRef track = *index.OpenTrack(*index.OpenNode(), 1, NameOf(1));
  ASSERT_TRUE(index.Add(track, 0, HashOf(0), 100).ok());
  const PrefixMatch match = index.LongestMatch(Hashes(1));
  index.Remove(track, 0);
  EXPECT_DEATH((void)index.Sources(match, 0), "check failed");
}

// Whatever is added and removed, it answers as a plain map would.
TEST(PrefixIndex, BehavesLikeAMap) {
  using TrackAndGroup = std::pair<int, uint64_t>;  // Track and group.
  for (uint64_t seed = 0; seed < 40; ++seed) {
    Random random(seed);
    PrefixIndex index(SIZE_MAX, seed);
    std::vector<NodeRef> nodes = {*index.OpenNode(), *index.OpenNode(), *index.OpenNode()};
    std::map<int, std::pair<size_t, TrackRef>> tracks;
    std::map<TrackAndGroup, uint64_t> model;
    for (int step = 0; step < 600; ++step) {
      const int track = static_cast<int>(random.Below(12));
      const uint64_t group = random.Below(20);
      if (!tracks.contains(track)) {
        const size_t node = random.Below(nodes.size());
        const auto number = static_cast<uint32_t>(track);
        tracks.emplace(track,
                       std::pair(node, *index.OpenTrack(nodes[node], number, NameOf(number))));
      } else if (random.Happens(0.6)) {
        const uint64_t hash = group;
        ASSERT_TRUE(index.Add(tracks.at(track).second, group, HashOf(hash), group).ok());
        model[{track, group}] = hash;
      } else if (random.Happens(0.8)) {
        EXPECT_EQ(index.Remove(tracks.at(track).second, group), model.erase({track, group}) > 0);
      } else if (random.Happens(0.8)) {
        index.CloseTrack(tracks.at(track).second);
        tracks.erase(track);
        std::erase_if(model, [&](const auto& entry) { return entry.first.first == track; });
      } else {
        const size_t node = random.Below(nodes.size());
        index.CloseNode(nodes[node]);
        nodes[node] = *index.OpenNode();
        std::erase_if(
            model, [&](const auto& entry) { return tracks.at(entry.first.first).first == node; });
        std::erase_if(tracks, [&](const auto& entry) { return entry.second.first == node; });
      }
    }
    const PrefixMatch match = index.LongestMatch(Hashes(25));
    for (uint64_t block = 0; block < 25; ++block) {
      std::vector<std::pair<std::string, uint64_t>> expected;
      for (const auto& [place, hash] : model) {
        if (hash == block) {
          expected.emplace_back(NameOf(static_cast<uint64_t>(place.first)).Render(), place.second);
        }
      }
      std::vector<std::pair<std::string, uint64_t>> found;
      for (const BlockSource& source : index.Sources(match, block)) {
        found.emplace_back(source.track.Render(), source.group);
      }
      std::ranges::sort(expected);
      std::ranges::sort(found);
      ASSERT_EQ(found, expected) << "seed " << seed << " block " << block;
    }
    ASSERT_EQ(index.source_count(), model.size());
    ASSERT_EQ(index.track_count(), tracks.size());
  }
}

struct Filled {
  NodeRef node{};
  size_t sources = 0;
  size_t tracks = 0;
};

Filled FillWithBlocks(PrefixIndex& index, size_t blocks) {
  Filled filled;
  filled.node = *index.OpenNode();
  while (filled.sources < blocks) {
    const auto number = static_cast<uint32_t>(filled.tracks++);
    const TrackRef track = *index.OpenTrack(filled.node, number, NameOf(number));
    for (uint64_t group = 0; group < 8; ++group) {
      EXPECT_TRUE(index.Add(track, group, HashOf(filled.sources++), 1 << 20).ok());
    }
  }
  return filled;
}

// The budget of a client's memory: 128 bytes a block and source, 256 a track, at any size.
TEST(PrefixIndex, CostsAtMostWhatItPromises) {
  for (const size_t blocks : {50000u, 75000u, 100000u, 150000u}) {
    PrefixIndex index;
    const Filled filled = FillWithBlocks(index, blocks);
    EXPECT_LE(index.bytes(), filled.sources * 128 + filled.tracks * 256) << blocks;
  }
}

// As many namespaces and as long names as a catalog likes.
TrackName NameOf(size_t scope, size_t length, uint64_t number) {
  const std::string digits = std::to_string(number);
  const std::string name = digits + std::string(length - std::min(length, digits.size()), 'x');
  return *TrackName::Of(*TrackNamespace::Of({"scope", std::to_string(scope)}), name);
}

// What it says of its memory is what the allocator gave, whatever names there are: never less, and
// more only by what the last page of a large table has left, and by sixteen bytes a piece, which
// the allocator adds or not.
TEST(PrefixIndex, CountsItsBytesExactly) {
  if (kSanitized) {
    GTEST_SKIP() << "sanitizers replace the allocator that would be asked";
  }
  constexpr int64_t kTables = 10;
  constexpr int64_t kPageBytes = 4096;
  constexpr int64_t kLeftOver = 16;
  constexpr size_t kPieceBytesMin = 2048;
  for (const size_t scopes : {1u, 5000u}) {
    for (const size_t length : {0u, 16u, 25u, 26u, 31u, 38u, 45u, 64u, 300u}) {
      for (const size_t blocks_each : {0u, 1u}) {
        const size_t before = HeldBytes();
        const auto index = std::make_unique<PrefixIndex>();
        // How much more it says than there is.
        const auto too_much = [&] {
          return static_cast<int64_t>(index->bytes()) - static_cast<int64_t>(HeldBytes() - before);
        };
        int64_t least = too_much();
        int64_t most = least;
        const auto measure = [&] {
          least = std::min(least, too_much());
          most = std::max(most, too_much());
        };
        const NodeRef node = *index->OpenNode();
        for (uint32_t i = 0; i < 10000; ++i) {
          const TrackRef track = *index->OpenTrack(node, i, NameOf(i % scopes, length, i));
          for (uint64_t group = 0; group < blocks_each; ++group) {
            ASSERT_TRUE(index->Add(track, group, HashOf(i), 1).ok());
          }
          measure();
        }
        const int64_t pieces = static_cast<int64_t>(index->bytes() / kPieceBytesMin) + 2 * kTables;
        index->CloseNode(node);
        measure();
        EXPECT_GE(least, 0) << scopes << " scopes, names of " << length;
        EXPECT_LE(most, kTables * kPageBytes + pieces * kLeftOver)
            << scopes << " scopes, names of " << length;
      }
    }
  }
}

// The allocator's word, not the index's own: not even while it grows.
TEST(PrefixIndex, TakesNoMoreThanItsBudgetFromTheAllocator) {
  if (kSanitized) {
    GTEST_SKIP() << "sanitizers replace the allocator that would be asked";
  }
  for (const size_t length : {0u, 13u, 30u, 38u, 45u, 64u}) {
    for (const size_t scopes : {size_t{1}, SIZE_MAX}) {
      constexpr size_t kBudget = 1 << 20;
      const size_t before = HeldBytes();
      const auto index = std::make_unique<PrefixIndex>(kBudget);
      const NodeRef node = *index->OpenNode();
      for (uint32_t i = 0;; ++i) {
        const Result<TrackRef> track = index->OpenTrack(node, i, NameOf(i % scopes, length, i));
        if (!track.ok() || !index->Add(*track, 0, HashOf(i), 1).ok()) {
          break;
        }
        ASSERT_LE(HeldBytes() - before, kBudget);
      }
      EXPECT_GE(HeldBytes() - before, kBudget / 2);
    }
  }
}

// Whatever is opened, added and removed, and however small the budget: never a byte past it.
TEST(PrefixIndex, NeverPassesItsBudget) {
  for (const size_t budget : {2000u, 20000u, 100000u, 250000u, 1000000u, 3000000u}) {
    PrefixIndex index(budget);
    std::vector<NodeRef> nodes;
    std::vector<TrackRef> tracks;
    uint64_t next = 0;
    for (int round = 0; round < 3; ++round) {
      for (int i = 0; i < 600; ++i) {
        if (const Result<NodeRef> node = index.OpenNode(); node.ok()) {
          nodes.push_back(*node);
        }
        ASSERT_LE(index.bytes(), budget);
      }
      bool full = nodes.empty();
      while (!full) {
        const Result<TrackRef> track =
            index.OpenTrack(nodes[next % nodes.size()], static_cast<uint32_t>(next), NameOf(next));
        full = !track.ok();
        for (uint64_t group = 0; !full && group < 8; ++group) {
          full = !index.Add(*track, group, HashOf(next++), 1).ok();
          ASSERT_LE(index.bytes(), budget);
        }
      }
      while (!nodes.empty()) {
        index.CloseNode(nodes.back());
        nodes.pop_back();
        ASSERT_LE(index.bytes(), budget);
      }
      ASSERT_EQ(index.source_count(), 0u);
    }
  }
}

// A hostile catalog may list one key a million times; taking it back must not take a day. Quadratic
// work would run into the test's own time limit.
TEST(PrefixIndex, RemovesManySourcesOfOneBlockInAnyOrder) {
  PrefixIndex index;
  const TrackRef track = *index.OpenTrack(*index.OpenNode(), 1, NameOf(1));
  constexpr uint64_t kSources = 200000;
  for (uint64_t group = 0; group < kSources; ++group) {
    ASSERT_TRUE(index.Add(track, group, HashOf(0), 1).ok());
  }
  EXPECT_EQ(index.block_count(), 1u);
  for (uint64_t group = 0; group < kSources; ++group) {
    ASSERT_TRUE(index.Remove(track, group));
  }
  EXPECT_EQ(index.block_count(), 0u);
}

TEST(PrefixIndex, RefusesAHashThatNamesNothing) {
  PrefixIndex index;
  const TrackRef track = *index.OpenTrack(*index.OpenNode(), 1, NameOf(1));
  EXPECT_FALSE(index.Add(track, 0, BlockHash(), 1).ok());
  EXPECT_EQ(index.LongestMatch(std::vector<BlockHash>(3)).end(), 0u);
}

}  // namespace
}  // namespace kvcast
