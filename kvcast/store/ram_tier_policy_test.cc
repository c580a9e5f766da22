// What stays in RAM and what goes: uses, keys, pins, reservations.
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "kvcast/store/ram_tier.h"

namespace kvcast {
namespace {

using std::chrono::seconds;

constexpr uint64_t kKeyProperty = 0x3801;
constexpr Instant kStart{seconds(1000)};

TrackName TrackOf(std::string_view tenant, std::string_view prefix,
                  std::string_view generation = "g") {
  return *TrackName::Of(
      *TrackNamespace::Of({"service", std::string(tenant) + "/model@0", prefix, generation}),
      "BF16");
}

Object Piece(uint64_t group, uint64_t object, size_t bytes = 10'000) {
  Object made;
  made.location = {group, object};
  made.payload = Bytes::Of(std::string(bytes, 'x'));
  return made;
}

Object KeyedPiece(uint64_t group, char key) {
  Object made = Piece(group, 0);
  made.properties =
      PropertiesBuilder()
          .Immutable(PropertiesBuilder().Bytes(kKeyProperty, std::string(32, key)).Build())
          .Build();
  return made;
}

RamTier TierOf(std::string eviction, size_t bytes_max = 200'000) {
  RamTierOptions options;
  options.bytes_max = bytes_max;
  options.eviction = std::move(eviction);
  options.key_property = kKeyProperty;
  options.secret = 7;
  return *RamTier::Of(options);
}

void PutGroup(RamTier& tier, const TrackName& track, uint64_t group, uint64_t objects = 1) {
  for (uint64_t object = 0; object < objects; ++object) {
    ASSERT_TRUE(tier.Put(track, Piece(group, object)).ok());
  }
  ASSERT_TRUE(tier.EndGroup(track, group, objects).ok());
}

void PutKeyed(RamTier& tier, const TrackName& track, char key) {
  ASSERT_TRUE(tier.Put(track, KeyedPiece(0, key)).ok());
  ASSERT_TRUE(tier.EndGroup(track, 0, 1).ok());
}

// Groups that nobody will ask for, each on a track of its own.
void Flood(RamTier& tier, int count, std::string_view tenant = "tenant") {
  static int number = 0;
  for (int i = 0; i < count; ++i) {
    PutGroup(tier, TrackOf(tenant, "flood" + std::to_string(++number)), 0);
  }
}

bool Holds(const RamTier& tier, const TrackName& track, uint64_t group) {
  return tier.FindGroup(track, group).has_value();
}

TEST(RamTierPolicy, EvictsWholeGroupsInThePolicysOrder) {
  RamTier tier = TierOf("lru", 50'000);
  const TrackName track = TrackOf("tenant", "a");
  PutGroup(tier, track, 0, 2);
  PutGroup(tier, track, 1, 2);
  ASSERT_TRUE(tier.Get(track, {0, 0}).has_value());  // Group 1 is now the oldest.
  PutGroup(tier, TrackOf("tenant", "b"), 0);
  EXPECT_TRUE(tier.Get(track, {0, 1}).has_value());
  EXPECT_FALSE(Holds(tier, track, 1));
  const std::vector<EvictedGroup> evicted = tier.TakeEvicted();
  ASSERT_EQ(evicted.size(), 1u);
  EXPECT_EQ(evicted[0].track, track);
  EXPECT_EQ(evicted[0].group, 1u);
  EXPECT_TRUE(tier.TakeEvicted().empty());
}

TEST(RamTierPolicy, TakesATrackFromItsEndByDefault) {
  RamTier tier(200'000);
  const TrackName track = TrackOf("tenant", "a");
  for (uint64_t group = 0; group < 40; ++group) {
    PutGroup(tier, track, group);
  }
  EXPECT_TRUE(Holds(tier, track, 0));
  EXPECT_TRUE(Holds(tier, track, 39)) << "What was put last is kept, whatever has to go for it.";
  EXPECT_FALSE(Holds(tier, track, 38));
}

// However many objects and calls: a reader that begins a group uses it once.
TEST(RamTierPolicy, CountsAFetchOfAGroupOnce) {
  RamTier tier = TierOf("lfu");
  const TrackName once = TrackOf("tenant", "once");
  const TrackName twice = TrackOf("tenant", "twice");
  PutGroup(tier, once, 0, 4);
  PutGroup(tier, twice, 0, 4);
  for (uint64_t object = 0; object < 4; ++object) {
    EXPECT_EQ(tier.GetRange(once, {{0, object}, {0, LocationRange::kWholeGroup}}, 1).size(), 1u);
    EXPECT_TRUE(tier.Get(once, {0, std::max<uint64_t>(object, 1)}).has_value());
  }
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(tier.GetRange(twice, LocationRange::Groups(0, 9), 10).size(), 4u);
  }
  for (int i = 0; i < 20; ++i) {
    const TrackName thrice = TrackOf("tenant", "thrice" + std::to_string(i));
    PutGroup(tier, thrice, 0);
    for (int use = 0; use < 3 && Holds(tier, thrice, 0); ++use) {
      ASSERT_TRUE(tier.Get(thrice, {0, 0}).has_value());
    }
    if (!Holds(tier, once, 0)) {
      break;
    }
  }
  EXPECT_FALSE(Holds(tier, once, 0));
  EXPECT_TRUE(Holds(tier, twice, 0));
}

// A block that is only half here is of no use, and half a block that went leaves one.
TEST(RamTierPolicy, LeavesAGroupAloneWhileItComes) {
  RamTier tier = TierOf("lru");
  const TrackName slow = TrackOf("tenant", "slow");
  for (uint64_t object = 0; object < 20; ++object) {
    ASSERT_TRUE(tier.Put(slow, Piece(0, object, 100)).ok());
    Flood(tier, 10);
  }
  ASSERT_TRUE(tier.EndGroup(slow, 0, 20).ok());
  EXPECT_TRUE(tier.FindGroup(slow, 0)->whole());
  Flood(tier, 30);
  EXPECT_FALSE(Holds(tier, slow, 0));
}

// But not for ever: a publisher may never end its groups.
TEST(RamTierPolicy, LetsGroupsThatNeverEndGoToo) {
  RamTier tier = TierOf("lru");
  for (int i = 0; i < 100; ++i) {
    ASSERT_TRUE(tier.Put(TrackOf("tenant", "open" + std::to_string(i)), Piece(0, 0, 5000)).ok());
  }
  EXPECT_LE(tier.bytes(), 200'000u);
  EXPECT_FALSE(Holds(tier, TrackOf("tenant", "open0"), 0));
  EXPECT_TRUE(Holds(tier, TrackOf("tenant", "open99"), 0));
  EXPECT_GT(tier.object_count(), 20u);
}

// Whether there is room is a matter of single bytes, and the policies' own are among them: a tier
// that is full of what can be evicted takes everything.
TEST(RamTierPolicy, TakesWhatComesWhereOthersCanGo) {
  for (const char* const policy : {"default", "lru", "lfu", "s3fifo"}) {
    for (size_t bytes = 4000; bytes < 4300; ++bytes) {
      RamTier tier = TierOf(policy, 150'000);
      const TrackName track = TrackOf("tenant", "prefix");
      for (uint64_t object = 0; object < 12; ++object) {
        for (uint64_t group = 0; group < 6; ++group) {
          const Result<bool> put = tier.Put(track, Piece(group, object, bytes));
          // Of a group that had to go, what comes later may begin it again.
          ASSERT_TRUE(put.ok()) << policy << ", " << bytes << " bytes: " << put.error().message();
        }
      }
    }
  }
}

// S3-FIFO takes what it has seen before into its main queue, where a flood does not reach it.
bool StaysTheSecondTime(const TrackName& first, const TrackName& second, char key) {
  RamTier tier = TierOf("s3fifo");
  Flood(tier, 30);
  PutKeyed(tier, first, key);
  Flood(tier, 20);
  EXPECT_FALSE(Holds(tier, first, 0));
  PutKeyed(tier, second, 'k');
  Flood(tier, 40);
  return Holds(tier, second, 0);
}

TEST(RamTierPolicy, KnowsABlockAgainUnderAnotherTrack) {
  const TrackName track = TrackOf("tenant", "p", "first");
  EXPECT_TRUE(StaysTheSecondTime(track, TrackOf("tenant", "q", "second"), 'k'));
  EXPECT_FALSE(StaysTheSecondTime(track, TrackOf("tenant", "q", "second"), 'l'));
  EXPECT_FALSE(StaysTheSecondTime(track, TrackOf("other", "q", "second"), 'k'));
  const TrackName rung = *TrackName::Of(track.space(), "FP8");
  EXPECT_FALSE(StaysTheSecondTime(track, rung, 'k'));
}

TEST(RamTierPolicy, HoldsTwoCopiesOfABlock) {
  for (const std::string_view policy : EvictionNames()) {
    RamTier tier = TierOf(std::string(policy));
    const TrackName copies[] = {TrackOf("tenant", "p", "1"), TrackOf("tenant", "p", "2"),
                                TrackOf("tenant", "p", "3")};
    for (int round = 0; round < 3; ++round) {
      for (const TrackName& copy : copies) {
        PutKeyed(tier, copy, 'k');
        EXPECT_TRUE(tier.Get(copy, {0, 0}).has_value());
      }
      tier.Remove(copies[0], 0);
      EXPECT_TRUE(Holds(tier, copies[1], 0));
      EXPECT_TRUE(Holds(tier, copies[2], 0));
      Flood(tier, 60);
      for (const TrackName& copy : copies) {
        tier.Remove(copy, 0);
      }
    }
  }
}

// The key comes with the first object, which may come last.
TEST(RamTierPolicy, LearnsTheKeyOfAGroupThatRestsAlready) {
  RamTier tier = TierOf("s3fifo");
  const TrackName track = TrackOf("tenant", "p", "late");
  for (uint64_t object = 1; object < 4; ++object) {
    ASSERT_TRUE(tier.Put(track, Piece(0, object)).ok());  // More than a group may bring and wait.
  }
  ASSERT_TRUE(tier.Put(track, KeyedPiece(0, 'k')).ok());
  ASSERT_TRUE(tier.EndGroup(track, 0, 4).ok());
  Flood(tier, 20);
  ASSERT_FALSE(Holds(tier, track, 0));
  PutKeyed(tier, TrackOf("tenant", "q"), 'k');
  Flood(tier, 40);
  EXPECT_TRUE(Holds(tier, TrackOf("tenant", "q"), 0));
}

TEST(RamTierPolicy, NeverEvictsATrackThatIsPinned) {
  RamTier tier(100'000);
  const TrackName track = TrackOf("tenant", "catalog");
  PutGroup(tier, track, 0);
  ASSERT_TRUE(tier.Pin(track).ok());
  ASSERT_TRUE(tier.Put(track, Piece(1, 0)).ok());
  Flood(tier, 20);
  EXPECT_TRUE(Holds(tier, track, 0));
  EXPECT_TRUE(Holds(tier, track, 1));
  for (const EvictedGroup& evicted : tier.TakeEvicted()) {
    EXPECT_NE(evicted.track, track);
  }
  tier.Remove(track, 0);
  EXPECT_FALSE(Holds(tier, track, 0));
  EXPECT_TRUE(tier.TakeEvicted().empty());
}

TEST(RamTierPins, HoldGroupsUntilTheirTime) {
  RamTier tier = TierOf("lru");
  const TrackName track = TrackOf("tenant", "a");
  for (uint64_t group = 0; group < 5; ++group) {
    PutGroup(tier, track, group);
  }
  EXPECT_EQ(*tier.Pin(track, 1, 3, 1, kStart + seconds(10)), 3u);
  EXPECT_EQ(*tier.Pin(track, 3, 9, 2, kStart + seconds(20)), 2u);
  EXPECT_EQ(tier.deadline(), kStart + seconds(10));
  Flood(tier, 30);
  EXPECT_FALSE(Holds(tier, track, 0));
  for (uint64_t group = 1; group < 5; ++group) {
    EXPECT_TRUE(Holds(tier, track, group));
  }
  tier.OnTime(kStart + seconds(10));
  Flood(tier, 30);
  EXPECT_FALSE(Holds(tier, track, 1));
  EXPECT_TRUE(Holds(tier, track, 3)) << "Another owner holds it.";
  tier.OnTime(kStart + seconds(20));
  EXPECT_EQ(tier.deadline(), std::nullopt);
  EXPECT_EQ(tier.pinned_bytes(), 0u);
  Flood(tier, 30);
  EXPECT_FALSE(Holds(tier, track, 3));
}

// What its publisher tells late does not bring a group among those that can be evicted, and pinned.
TEST(RamTierPins, PassOverAGroupThatALateGapMadeWhole) {
  RamTier tier = TierOf("default");
  const TrackName track = TrackOf("tenant", "a");
  Object object;
  object.location = {0, 1};
  ASSERT_TRUE(tier.Put(track, object).ok());
  ASSERT_TRUE(tier.EndGroup(track, 0, 2).ok());
  tier.AddGap(track, {{0, 0}, {0, 0}});
  EXPECT_EQ(*tier.Pin(track, 0, 0, 1, kStart), 0u);
}

TEST(RamTierPins, EndWithTheirOwner) {
  RamTier tier = TierOf("default");
  const TrackName track = TrackOf("tenant", "a");
  PutGroup(tier, track, 0);
  PutGroup(tier, track, 1);
  ASSERT_EQ(*tier.Pin(track, 0, 1, 1, kStart), 2u);
  ASSERT_EQ(*tier.Pin(track, 0, 0, 2, kStart), 1u);
  const uint64_t pinned = tier.pinned_bytes();
  tier.Unpin(1);
  EXPECT_LT(tier.pinned_bytes(), pinned);
  EXPECT_GT(tier.pinned_bytes(), 10'000u);
  tier.Unpin(2);
  tier.Unpin(3);
  EXPECT_EQ(tier.pinned_bytes(), 0u);
}

// The time that an owner gives last counts, sooner or later.
TEST(RamTierPins, AreRenewed) {
  RamTier tier = TierOf("lru");
  const TrackName track = TrackOf("tenant", "a");
  PutGroup(tier, track, 0);
  ASSERT_TRUE(tier.Pin(track, 0, 0, 1, kStart + seconds(10)).ok());
  const uint64_t pinned = tier.pinned_bytes();
  ASSERT_TRUE(tier.Pin(track, 0, 0, 1, kStart + seconds(20)).ok());
  EXPECT_EQ(tier.pinned_bytes(), pinned);
  tier.OnTime(kStart + seconds(19));
  EXPECT_EQ(tier.pinned_bytes(), pinned);
  ASSERT_TRUE(tier.Pin(track, 0, 0, 1, kStart + seconds(5)).ok());
  tier.OnTime(kStart + seconds(19));
  EXPECT_EQ(tier.pinned_bytes(), 0u);
}

TEST(RamTierPins, TakeNoMoreThanTheirPart) {
  RamTier tier = TierOf("lru");
  const TrackName track = TrackOf("tenant", "a");
  for (uint64_t group = 0; group < 12; ++group) {
    PutGroup(tier, track, group);
  }
  EXPECT_EQ(tier.Pin(track, 0, 11, 1, kStart).error().code(), ErrorCode::kTooLarge);
  EXPECT_EQ(tier.pinned_bytes(), 0u);
  EXPECT_EQ(*tier.Pin(track, 0, 8, 1, kStart), 9u);
  EXPECT_LE(tier.pinned_bytes(), 100'000u);
  EXPECT_EQ(tier.Pin(track, 9, 9, 1, kStart).error().code(), ErrorCode::kTooLarge);
  EXPECT_EQ(*tier.Pin(track, 0, 8, 1, kStart), 9u) << "Those that are pinned cost nothing more.";
}

TEST(RamTierPins, AreForWholeGroupsThatAreHere) {
  RamTier tier = TierOf("lru");
  const TrackName track = TrackOf("tenant", "a");
  EXPECT_EQ(*tier.Pin(track, 0, 9, 1, kStart), 0u);
  ASSERT_TRUE(tier.Put(track, Piece(0, 0)).ok());
  EXPECT_EQ(*tier.Pin(track, 0, 9, 1, kStart), 0u);
  PutGroup(tier, track, 1, 2);
  PutGroup(tier, track, 2, 2);
  EXPECT_EQ(*tier.Pin(track, 0, 9, 1, kStart), 2u);
  tier.Remove(track, Location{1, 0});
  EXPECT_GT(tier.pinned_bytes(), 10'000u);
  tier.Remove(track, 2);
  EXPECT_EQ(tier.pinned_bytes(), 0u);
  tier.Unpin(1);
  EXPECT_TRUE(Holds(tier, track, 1));
}

RamTier ReservedTier(std::map<std::string, uint64_t> reservations) {
  RamTierOptions options;
  options.bytes_max = 400'000;
  options.eviction = "lru";
  options.reservations = std::move(reservations);
  return *RamTier::Of(options);
}

TEST(RamTierReservations, AreNeverTakenByAnother) {
  RamTier tier = ReservedTier({{"acme", 60'000}, {"umbrella", 100'000}});
  const TrackName track = TrackOf("acme", "a");
  for (uint64_t group = 0; group < 20; ++group) {
    PutGroup(tier, track, group);
  }
  const uint64_t beyond = tier.tenant_bytes("acme");
  EXPECT_GT(beyond, 200'000u);
  for (int i = 0; i < 100; ++i) {
    Flood(tier, 1, i % 2 == 0 ? "umbrella" : "somebody");
    ASSERT_GE(tier.tenant_bytes("acme"), 60'000u);
  }
  // What nobody has reserved they have come to share.
  EXPECT_LT(tier.tenant_bytes("acme"), beyond);
  EXPECT_GT(tier.tenant_bytes("umbrella"), 130'000u);
  EXPECT_GT(tier.tenant_bytes("somebody"), 50'000u);
}

TEST(RamTierReservations, BoundNobodyWhileThereIsRoom) {
  RamTier tier = ReservedTier({{"acme", 10'000}});
  const TrackName track = TrackOf("acme", "a");
  for (uint64_t group = 0; group < 60; ++group) {
    PutGroup(tier, track, group);
  }
  EXPECT_GT(tier.tenant_bytes("acme"), 300'000u);
  EXPECT_TRUE(Holds(tier, track, 59));
}

// A tenant whose reservation is full makes room among its own.
TEST(RamTierReservations, GiveWayToTheirOwnTenant) {
  RamTier tier = ReservedTier({{"acme", 200'000}, {"umbrella", 190'000}});
  Flood(tier, 40, "umbrella");
  Flood(tier, 40, "acme");
  const uint64_t umbrella = tier.tenant_bytes("umbrella");
  PutGroup(tier, TrackOf("acme", "new"), 0);
  EXPECT_TRUE(Holds(tier, TrackOf("acme", "new"), 0));
  EXPECT_EQ(tier.tenant_bytes("umbrella"), umbrella);
}

TEST(RamTierReservations, MustFitTheTier) {
  RamTierOptions options;
  options.bytes_max = 100'000;
  options.reservations = {{"acme", 60'000}, {"umbrella", 40'001}};
  const Result<RamTier> tier = RamTier::Of(options);
  ASSERT_FALSE(tier.ok());
  EXPECT_EQ(tier.error().code(), ErrorCode::kInvalid);
  EXPECT_NE(tier.error().message().find("umbrella"), std::string::npos);
  options.reservations = {{"acme", UINT64_MAX}, {"umbrella", 2}};
  EXPECT_FALSE(RamTier::Of(options).ok());
  options.reservations = {{"", 1}};
  EXPECT_FALSE(RamTier::Of(options).ok());
  options.reservations.clear();
  options.eviction = "none";
  EXPECT_FALSE(RamTier::Of(options).ok());
}

TEST(RamTierReservations, GoByTheSecondFieldUpToTheSlash) {
  const auto tenant = [](std::initializer_list<std::string_view> fields) {
    const TrackName track = *TrackName::Of(*TrackNamespace::Of(fields), "t");
    return std::string(RamPools::TenantOf(track));
  };
  EXPECT_EQ(tenant({"service", "acme/model@0", "p"}), "acme");
  EXPECT_EQ(tenant({"service", "acme/a/b"}), "acme");
  EXPECT_EQ(tenant({"service", "acme"}), "acme");
  EXPECT_EQ(tenant({"service"}), "");
}

}  // namespace
}  // namespace kvcast
