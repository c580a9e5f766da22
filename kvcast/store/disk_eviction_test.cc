#include "kvcast/store/disk_eviction.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "kvcast/base/random.h"
#include "kvcast/store/disk_tier_fixture_test.h"

namespace kvcast {
namespace {

constexpr uint64_t kSegments = 32;

// A tier whose policy can be chosen.
class PolicyFixture : public DiskTierFixture {
 public:
  explicit PolicyFixture(const std::string& name) : DiskTierFixture(kSegments), name_(name) {
    StartWith();
  }

  void StartWith() {
    ++options.seed;
    std::unique_ptr<DiskPolicy> policy = std::make_unique<OldestFirst>();
    if (name_ != "oldest") {
      auto made = std::make_unique<DiskEviction>(
          *MakeEviction(name_, {.bytes_max = options.bytes_max, .ghosts_max = 10000}), 7);
      eviction = made.get();
      policy = std::move(made);
    }
    tier = std::make_unique<DiskTier>(options, std::move(policy));
    Run();
  }

  static std::string PayloadAt(uint64_t conversation, uint64_t group) {
    return std::string(2500 + conversation * 7 % 400, static_cast<char>('a' + group % 26));
  }
  static TrackName Conversation(uint64_t number) { return DiskTrack("c" + std::to_string(number)); }

  // One request for the first so many blocks of a conversation: how many of the leading ones were
  // here. Those that were not are put.
  uint64_t Serve(uint64_t conversation, uint64_t blocks) {
    const TrackName track = Conversation(conversation);
    uint64_t hits = 0;
    while (hits < blocks && Payload(track, {hits, 0}) == PayloadAt(conversation, hits)) {
      ++hits;
    }
    for (uint64_t group = blocks; group-- > hits;) {
      (void)tier->Put(track, DiskObject({group, 0}, PayloadAt(conversation, group)), 0, now);
    }
    Run();
    return hits;
  }

  DiskEviction* eviction = nullptr;

 private:
  std::string name_;
};

// Conversations that come once, some that go on for many turns, and a few that everybody begins
// with: the mix that a chat service has.
double HitPercent(PolicyFixture& disk, uint64_t seed, int requests) {
  Random random(seed);
  uint64_t hits = 0;
  uint64_t asked = 0;
  std::vector<std::pair<uint64_t, uint64_t>> going_on;
  uint64_t next = 1000;
  for (int request = 0; request < requests; ++request) {
    uint64_t conversation = next++;
    uint64_t blocks = 2 + random.Below(10);
    if (random.Happens(0.3)) {
      conversation = static_cast<uint64_t>(std::exp(static_cast<double>(random.Below(460)) / 100));
      blocks = 8;
    } else if (!going_on.empty() && random.Happens(0.4)) {
      auto& one = going_on[random.Below(going_on.size())];
      conversation = one.first;
      blocks = ++one.second;
    } else if (random.Happens(0.3)) {
      going_on.emplace_back(conversation, blocks);
      if (going_on.size() > 30) {
        going_on.erase(going_on.begin());
      }
    }
    hits += disk.Serve(conversation, blocks);
    asked += blocks;
    EXPECT_LE(disk.most_allocated, disk.options.bytes_max);
  }
  return 100 * static_cast<double>(hits) / static_cast<double>(asked);
}

TEST(DiskEviction, HitsAtLeastAsOftenAsTheOldestFirst) {
  PolicyFixture oldest("oldest");
  PolicyFixture ours("default");
  const double before = HitPercent(oldest, 1, 1200);
  EXPECT_GE(HitPercent(ours, 1, 1200), before);
  EXPECT_GT(ours.tier->counts().segments_removed, 10u);
}

TEST(DiskEviction, WorksWithEveryPolicyThereIs) {
  for (const std::string_view name : EvictionNames()) {
    PolicyFixture disk{std::string(name)};
    EXPECT_GT(HitPercent(disk, 4, 300), 1) << name;
    EXPECT_EQ(disk.tier->counts().gave_up, 0u) << name;
  }
}

TEST(DiskEviction, ACondemnedGroupIsReprievedByWhoeverAsksForIt) {
  PolicyFixture disk("lru");
  uint64_t conversation = 0;
  while (disk.eviction->condemned_count() == 0) {
    ASSERT_LT(conversation, 2000u);
    disk.Serve(conversation++, 4);
  }
  // Those that are here and condemned are among the first ones.
  const size_t before = disk.eviction->condemned_count();
  size_t asked = 0;
  for (uint64_t one = 0; one < conversation && asked < 2000; ++one, ++asked) {
    disk.Payload(PolicyFixture::Conversation(one), {0, 0});
  }
  EXPECT_LT(disk.eviction->condemned_count(), before);
}

TEST(DiskEviction, AStartTellsItWhatIsHere) {
  PolicyFixture disk("default");
  for (uint64_t conversation = 0; conversation < 20; ++conversation) {
    disk.Serve(conversation, 4);
  }
  const size_t bytes = disk.eviction->bytes();
  disk.device = disk.device.AfterKill();
  disk.StartWith();
  EXPECT_GE(disk.eviction->bytes() + 20000, bytes);
  EXPECT_GT(disk.eviction->bytes(), 80u * 100);
  disk.tier->Remove(PolicyFixture::Conversation(3), std::nullopt, disk.now).value();
  disk.Run();
  for (uint64_t conversation = 100; conversation < 400; ++conversation) {
    disk.Serve(conversation, 4);
  }
  EXPECT_GT(disk.tier->counts().segments_removed, 3u);
}

}  // namespace
}  // namespace kvcast
