#include "kvcast/store/replay.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string_view>
#include <vector>

#include "kvcast/base/random.h"
#include "kvcast/store/replay_oracle.h"

namespace kvcast {
namespace {

using Trace = std::vector<std::vector<uint64_t>>;

Replay ReplayOf(std::string_view policy, size_t blocks, std::string_view admission = "all") {
  const EvictionLimits limits = Replay::LimitsFor(blocks);
  return {*MakeEviction(policy, limits), *MakeAdmission(admission, limits), blocks};
}

double HitPercent(const Trace& trace, std::string_view policy, size_t blocks) {
  Replay replay = ReplayOf(policy, blocks);
  size_t hits = 0;
  size_t total = 0;
  for (const auto& request : trace) {
    hits += replay.Serve(request);
    total += request.size();
    EXPECT_LE(replay.block_count(), blocks);
  }
  return 100.0 * static_cast<double>(hits) / static_cast<double>(total);
}

// Chats with one of a few system prompts. Some come back after a while, with all that was said
// before and more, and many prompts are never seen again.
Trace Chats(uint64_t seed, size_t requests, double chance_to_return, uint64_t wait_max) {
  Random random(seed);
  uint64_t next = 1000;
  const auto say = [&](std::vector<uint64_t> prompt) {
    for (uint64_t blocks = random.Below(8) + 1; blocks > 0; --blocks) {
      prompt.push_back(next++);
    }
    return prompt;
  };
  std::multimap<uint64_t, std::vector<uint64_t>> waiting;
  Trace trace;
  for (uint64_t now = 0; trace.size() < requests; ++now) {
    std::vector<uint64_t> prompt;
    if (!waiting.empty() && waiting.begin()->first <= now) {
      prompt = say(waiting.begin()->second);
      waiting.erase(waiting.begin());
    } else {
      const uint64_t system = std::min(random.Below(20), random.Below(20));
      for (uint64_t block = 0; block < 2 + system % 4; ++block) {
        prompt.push_back(system * 10 + block);
      }
      prompt = say(prompt);
    }
    trace.push_back(prompt);
    if (random.Happens(chance_to_return)) {
      waiting.emplace(now + wait_max / 4 + random.Below(wait_max), prompt);
    }
  }
  return trace;
}

size_t DistinctBlocks(const Trace& trace) {
  std::vector<uint64_t> blocks;
  for (const auto& request : trace) {
    blocks.insert(blocks.end(), request.begin(), request.end());
  }
  std::sort(blocks.begin(), blocks.end());
  return static_cast<size_t>(std::unique(blocks.begin(), blocks.end()) - blocks.begin());
}

TEST(Replay, OnlyLeadingBlocksHit) {
  Replay replay = ReplayOf("lru", 3);
  EXPECT_EQ(replay.Serve(std::vector<uint64_t>{1, 2, 3}), 0u);
  EXPECT_EQ(replay.Serve(std::vector<uint64_t>{1, 2, 3}), 3u);
  EXPECT_EQ(replay.Serve(std::vector<uint64_t>{1, 9}), 1u);  // Block 3 goes: the end of its prefix.
  EXPECT_EQ(replay.Serve(std::vector<uint64_t>{1, 2, 3}), 2u);
  EXPECT_EQ(replay.Serve(std::vector<uint64_t>{}), 0u);
}

TEST(Replay, BlocksBehindAHoleDoNotHit) {
  Replay replay = ReplayOf("lru", 10);
  replay.Serve(std::vector<uint64_t>{2, 3});
  EXPECT_EQ(replay.Serve(std::vector<uint64_t>{1, 2, 3}), 0u);
}

TEST(Replay, WhatIsNotAdmittedIsNotHere) {
  Replay replay = ReplayOf("lru", 10, "second");
  EXPECT_EQ(replay.Serve(std::vector<uint64_t>{1, 2}), 0u);
  EXPECT_EQ(replay.block_count(), 0u);
  EXPECT_EQ(replay.Serve(std::vector<uint64_t>{1, 2}), 0u);
  EXPECT_EQ(replay.Serve(std::vector<uint64_t>{1, 2}), 2u);
}

// The promise of the default: as good as the better of LRU and S3-FIFO, whatever they are good at.
TEST(Replay, TheDefaultIsAsGoodAsTheBetterOfTheOthers) {
  struct Case {
    double chance_to_return;
    uint64_t wait_max;
  };
  double gain = 0;
  for (const Case& chats : {Case{0.7, 300}, Case{0.8, 40}}) {
    const Trace trace = Chats(chats.wait_max, 2'500, chats.chance_to_return, chats.wait_max);
    const size_t distinct = DistinctBlocks(trace);
    for (const size_t percent : {1u, 2u, 5u, 10u, 20u}) {
      const size_t blocks = distinct * percent / 100;
      const double others =
          std::max(HitPercent(trace, "lru", blocks), HitPercent(trace, "s3fifo", blocks));
      const double ours = HitPercent(trace, "default", blocks);
      EXPECT_GE(ours, others - 0.3) << percent << " % of chats of " << chats.wait_max;
      gain += ours - others;
    }
  }
  EXPECT_GT(gain / 10, 0.5);
}

// A ring that is larger than the tier: LRU always throws away what comes next.
TEST(Replay, TheDefaultKeepsAPartOfWhatDoesNotFit) {
  Trace trace;
  for (uint64_t round = 0; round < 60; ++round) {
    for (uint64_t prompt = 0; prompt < 40; ++prompt) {
      std::vector<uint64_t>& request = trace.emplace_back();
      for (uint64_t block = 0; block < 5; ++block) {
        request.push_back(prompt * 5 + block);
      }
    }
  }
  EXPECT_EQ(HitPercent(trace, "lru", 100), 0);
  EXPECT_GT(HitPercent(trace, "default", 100), 35);
}

TEST(OracleHits, KeepsWhatIsNeededNext) {
  const Trace trace = {{1, 2}, {3, 4}, {1, 2}, {3, 4}, {5}, {1, 2}};
  EXPECT_EQ(OracleHits(trace, 4), 6u);
  EXPECT_EQ(OracleHits(trace, 2), 4u);  // The first prompt alone.
  EXPECT_EQ(OracleHits(trace, 1), 2u);
  EXPECT_EQ(OracleHits({}, 1), 0u);
}

TEST(OracleHits, NobodyHitsMore) {
  const Trace trace = Chats(5, 1'000, 0.7, 100);
  size_t total = 0;
  for (const auto& request : trace) {
    total += request.size();
  }
  const size_t distinct = DistinctBlocks(trace);
  for (const size_t blocks : {distinct / 50, distinct / 10}) {
    const double oracle =
        100.0 * static_cast<double>(OracleHits(trace, blocks)) / static_cast<double>(total);
    for (const std::string_view policy : EvictionNames()) {
      EXPECT_LT(HitPercent(trace, policy, blocks), oracle) << policy;
    }
  }
  EXPECT_EQ(OracleHits(trace, distinct), total - distinct);
}

TEST(Replay, RoomForOneBlockIsEnough) {
  for (const std::string_view policy : EvictionNames()) {
    EXPECT_GE(HitPercent(Chats(1, 200, 0.5, 20), policy, 1), 0) << policy;
  }
}

TEST(Replay, TheSameTraceHasTheSameHits) {
  const Trace trace = Chats(3, 1'000, 0.6, 100);
  for (const std::string_view policy : EvictionNames()) {
    EXPECT_EQ(HitPercent(trace, policy, 200), HitPercent(trace, policy, 200)) << policy;
  }
}

}  // namespace
}  // namespace kvcast
