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
  explicit PolicyFixture(const std::string& name, std::map<std::string, uint64_t> reservations = {})
      : DiskTierFixture(kSegments), name_(name), reservations_(std::move(reservations)) {
    StartWith();
  }

  void StartWith() {
    ++options.seed;
    std::unique_ptr<DiskPolicy> policy = std::make_unique<OldestFirst>();
    if (name_ != "oldest") {
      DiskEvictionOptions wanted;
      wanted.eviction = name_;
      wanted.limits = {.bytes_max = options.bytes_max, .ghosts_max = 10000};
      wanted.secret = 7;
      wanted.reservations = reservations_;
      std::unique_ptr<DiskEviction> made = *DiskEviction::Of(wanted);
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
  std::map<std::string, uint64_t> reservations_;
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

// However much others bring, and wherever it lies, what a tenant has within its reservation stays.
TEST(DiskEviction, NobodyEvictsWhatAnotherHasReserved) {
  const auto block = [](std::string_view tenant, uint64_t number) {
    return *TrackName::Of(
        *TrackNamespace::Of({"service", std::string(tenant) + "/model", std::to_string(number)}),
        "t");
  };
  constexpr uint64_t kReserved = 400 << 10;
  PolicyFixture disk("default", {{"a", kReserved}});
  const std::string payload(2500, 'x');
  uint64_t mine = 0;
  for (uint64_t number = 0; number < 3000; ++number) {
    (void)disk.tier->Put(block("b", number), DiskObject({0, 0}, payload), 0, disk.now);
    if (disk.eviction->tenant_bytes("a") + payload.size() <= kReserved) {
      (void)disk.tier->Put(block("a", mine++), DiskObject({0, 0}, payload), 0, disk.now);
    }
    disk.Run();
  }
  ASSERT_GT(disk.tier->counts().segments_removed, 50u);
  EXPECT_EQ(disk.tier->counts().gave_up, 0u);
  ASSERT_GT(mine, kReserved / (payload.size() + 200));  // What its records take counts.
  for (uint64_t number = 0; number < mine; ++number) {
    EXPECT_EQ(disk.Payload(block("a", number), {0, 0}), payload) << number;
  }
  EXPECT_TRUE(disk.Payload(block("b", 2999), {0, 0}));
}

// A reservation is a floor: what is beyond goes first, whosever it is.
TEST(DiskEviction, TakesFromWhoHasMostBeyondItsReservation) {
  const auto block = [](std::string_view tenant, uint64_t number) {
    return *TrackName::Of(
        *TrackNamespace::Of({"service", std::string(tenant) + "/model", std::to_string(number)}),
        "t");
  };
  PolicyFixture disk("default", {{"a", 200 << 10}});
  for (uint64_t number = 0; number < 3000; ++number) {
    for (const std::string_view tenant : {"a", "b"}) {
      (void)disk.tier->Put(block(tenant, number), DiskObject({0, 0}, std::string(2500, 'x')), 0,
                           disk.now);
    }
    disk.Run();
  }
  EXPECT_GE(disk.eviction->tenant_bytes("a"), 200u << 10);
  EXPECT_GE(disk.eviction->tenant_bytes("b"), 200u << 10);
}

TEST(DiskEviction, RefusesToReserveMoreThanHalf) {
  DiskEvictionOptions options;
  options.limits.bytes_max = 1000;
  options.reservations = {{"a", 300}, {"b", 201}};
  EXPECT_FALSE(DiskEviction::Of(options).ok());
  options.reservations["b"] = 200;
  EXPECT_TRUE(DiskEviction::Of(options).ok());
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

// A disk may hold millions of groups, and the loop waits for its victims.
TEST(DiskEviction, LooksAtNobodyElseToFindAVictim) {
  PolicyFixture disk("default");
  for (uint64_t conversation = 0; conversation < 500; ++conversation) {
    disk.Serve(conversation, 4);
  }
  ASSERT_GT(disk.tier->counts().segments_removed, 50u);
  EXPECT_GT(disk.eviction->condemned_count(), 0u);
  EXPECT_EQ(disk.eviction->walked_count(), 0u);
}

}  // namespace
}  // namespace kvcast
