#include "kvcast/kv/block_runs.h"

#include <gtest/gtest.h>

#include <set>
#include <vector>

#include "kvcast/base/random.h"

namespace kvcast {
namespace {

constexpr uint32_t kRun = BlockRuns::kRunBlocks;

// Each of so many publishers tells of so many blocks, one block each in turn.
std::vector<std::vector<uint32_t>> TakeInTurn(BlockRuns& runs, size_t publishers, size_t blocks) {
  std::vector<std::vector<uint32_t>> taken(publishers);
  for (size_t i = 0; i < blocks; ++i) {
    for (std::vector<uint32_t>& own : taken) {
      own.push_back(runs.Take(own.empty() ? BlockRuns::kNone : own.back(), true));
    }
  }
  return taken;
}

void ExpectWholeRuns(const std::vector<std::vector<uint32_t>>& taken) {
  for (const std::vector<uint32_t>& own : taken) {
    for (size_t i = 0; i < own.size(); ++i) {
      ASSERT_EQ(own[i], own[i / kRun * kRun] + i % kRun);
    }
  }
}

TEST(BlockRuns, PublishersKeepTheirBlocksTogetherHoweverTheyTakeTurns) {
  BlockRuns runs;
  ExpectWholeRuns(TakeInTurn(runs, 2, 64));
  ExpectWholeRuns(TakeInTurn(runs, 64, 64));
  ExpectWholeRuns(TakeInTurn(runs, 200, 64));
}

// A node that is full lets one go for each that comes.
TEST(BlockRuns, KeepsThemTogetherWhereOthersHaveGone) {
  BlockRuns runs;
  const std::vector<std::vector<uint32_t>> old = TakeInTurn(runs, 16, 64);
  const size_t bytes = runs.bytes();
  for (const std::vector<uint32_t>& own : old) {
    for (const uint32_t number : own) {
      runs.Free(number);
    }
  }
  ExpectWholeRuns(TakeInTurn(runs, 16, 64));
  EXPECT_EQ(runs.bytes(), bytes);
}

// Tracks of one block would each leave seven places empty: they share, and still mostly lie side by
// side.
TEST(BlockRuns, WhoNeedsLittleSharesRuns) {
  BlockRuns runs;
  constexpr size_t kBlocks = 100000;
  size_t beside = 0;
  uint32_t last = BlockRuns::kNone;
  for (size_t i = 0; i < kBlocks; ++i) {
    const uint32_t number = runs.Take(BlockRuns::kNone, true);
    beside += number == last + 1 ? 1u : 0u;
    last = number;
  }
  EXPECT_LE(runs.bytes(), kBlocks * sizeof(BlockRuns::Block) * 3 / 2);
  EXPECT_GE(beside, kBlocks / 2);
}

// One block left in each run, as after evictions in any order: those who come next fill the gaps.
TEST(BlockRuns, UsesWhatIsFreeBeforeItGrows) {
  BlockRuns runs;
  const std::vector<std::vector<uint32_t>> taken = TakeInTurn(runs, 100, 800);
  const size_t bytes = runs.bytes();
  for (const std::vector<uint32_t>& own : taken) {
    for (size_t i = 0; i < own.size(); ++i) {
      if (i % kRun != 3) {
        runs.Free(own[i]);
      }
    }
  }
  TakeInTurn(runs, 100, 600);
  EXPECT_EQ(runs.bytes(), bytes);
}

// Numbers are never given out twice, what is free is found even where nothing may grow, and what it
// says it will take is what it takes.
TEST(BlockRuns, GivesOutEachPlaceOnce) {
  for (uint64_t seed = 0; seed < 50; ++seed) {
    Random random(seed);
    BlockRuns runs;
    std::set<uint32_t> taken;
    for (int step = 0; step < 3000; ++step) {
      const bool grows_now = step / 500 % 2 == 0;
      if (random.Happens(grows_now ? 0.7 : 0.3) || taken.empty()) {
        const uint32_t near =
            random.Happens(0.5) ? BlockRuns::kNone : static_cast<uint32_t>(random.Below(4000));
        const bool may_grow = random.Happens(0.5) || !runs.has_free();
        const size_t bytes = runs.bytes() + (may_grow ? runs.bytes_to_take(near) : 0);
        ASSERT_TRUE(taken.insert(runs.Take(near, may_grow)).second) << "seed " << seed;
        ASSERT_LE(runs.bytes(), bytes);
      } else {
        const auto one = std::next(taken.begin(), static_cast<long>(random.Below(taken.size())));
        runs.Free(*one);
        taken.erase(one);
      }
      ASSERT_EQ(runs.size(), taken.size());
    }
    while (runs.has_free()) {
      ASSERT_TRUE(taken.insert(runs.Take(BlockRuns::kNone, false)).second) << "seed " << seed;
    }
  }
}

}  // namespace
}  // namespace kvcast
