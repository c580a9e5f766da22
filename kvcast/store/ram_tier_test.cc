#include "kvcast/store/ram_tier.h"

#include <gtest/gtest.h>

#include "kvcast/base/random.h"

namespace kvcast {
namespace {

TrackName RamTrack(std::string_view name) {
  return *TrackName::Of(*TrackNamespace::Of({"space"}), name);
}

Object ObjectAt(uint64_t group, uint64_t object, std::string_view payload = "payload") {
  Object made;
  made.location = {group, object};
  made.payload = Bytes::Of(payload);
  return made;
}

TEST(RamTier, GivesBackWhatWasPutByReference) {
  RamTier tier(1 << 20);
  const Object object = ObjectAt(3, 17);
  ASSERT_TRUE(tier.Put(RamTrack("a"), object).ok());
  const std::optional<Object> found = tier.Get(RamTrack("a"), {3, 17});
  ASSERT_TRUE(found.has_value());
  EXPECT_TRUE(found->ConsistentWith(object));
  EXPECT_EQ(found->payload.piece(0).data(), object.payload.piece(0).data());
  EXPECT_FALSE(tier.Get(RamTrack("a"), {3, 18}).has_value());
  EXPECT_FALSE(tier.Get(RamTrack("b"), {3, 17}).has_value());
}

TEST(RamTier, NeverLetsANameYieldTwoPayloads) {
  RamTier tier(1 << 20);
  EXPECT_TRUE(*tier.Put(RamTrack("a"), ObjectAt(0, 0, "one")));
  EXPECT_FALSE(*tier.Put(RamTrack("a"), ObjectAt(0, 0, "one")));
  EXPECT_EQ(tier.Put(RamTrack("a"), ObjectAt(0, 0, "two")).error().code(), ErrorCode::kMismatch);
  EXPECT_EQ(tier.Get(RamTrack("a"), {0, 0})->payload, Bytes::Of("one"));
}

TEST(RamTier, GivesARangeInOrderAcrossGroups) {
  RamTier tier(1 << 20);
  for (const Location at : {Location{2, 1}, {0, 0}, {1, 5}, {0, 7}, {2, 0}}) {
    ASSERT_TRUE(tier.Put(RamTrack("a"), ObjectAt(at.group, at.object)).ok());
  }
  std::vector<Location> found;
  for (const Object& object : tier.GetRange(RamTrack("a"), {{0, 5}, {2, 0}}, 10)) {
    found.push_back(object.location);
  }
  EXPECT_EQ(found, (std::vector<Location>{{0, 7}, {1, 5}, {2, 0}}));
  EXPECT_EQ(tier.GetRange(RamTrack("a"), LocationRange::Groups(0, 9), 2).size(), 2u);
}

// A node answers for a track after its objects have been evicted.
TEST(RamTier, RemembersATrackBeyondItsObjects) {
  RamTier tier(1 << 20);
  EXPECT_EQ(tier.Find(RamTrack("a")), nullptr);
  const Properties properties = PropertiesBuilder().Number(2, 7).Build();
  ASSERT_TRUE(tier.Describe(RamTrack("a"), properties).ok());
  ASSERT_TRUE(tier.Put(RamTrack("a"), ObjectAt(4, 2)).ok());
  ASSERT_TRUE(tier.Put(RamTrack("a"), ObjectAt(1, 9)).ok());
  ASSERT_TRUE(tier.EndTrack(RamTrack("a"), {4, 3}).ok());
  EXPECT_EQ(tier.Find(RamTrack("a"))->properties, properties);
  EXPECT_EQ(tier.Find(RamTrack("a"))->largest, (Location{4, 2}));
  EXPECT_EQ(tier.Find(RamTrack("a"))->end, (Location{4, 3}));
}

TEST(RamTier, NeverPassesItsBytes) {
  RamTier tier(200000);
  Random random(1);
  size_t refused = 0;
  for (int i = 0; i < 3000; ++i) {
    const TrackName track = RamTrack(std::to_string(random.Below(5)));
    const std::string payload(random.Below(20000), 'x');
    refused += tier.Put(track, ObjectAt(random.Below(6), static_cast<uint64_t>(i), payload)).ok()
                   ? 0u
                   : 1u;
    ASSERT_LE(tier.bytes(), 200000u);
  }
  EXPECT_LT(refused, 3000u);
  EXPECT_EQ(tier.Put(RamTrack("x"), ObjectAt(0, 0, std::string(200001, 'x'))).error().code(),
            ErrorCode::kTooLarge);
}

// What a group's or a track's end says, objects beyond it contradict, and the other way round.
TEST(RamTier, HoldsATrackToItsEnds) {
  RamTier tier(1 << 20);
  ASSERT_TRUE(tier.Put(RamTrack("a"), ObjectAt(0, 3)).ok());
  EXPECT_EQ(tier.EndGroup(RamTrack("a"), 0, 3).error().code(), ErrorCode::kMismatch);
  ASSERT_TRUE(tier.EndGroup(RamTrack("a"), 0, 4).ok());
  EXPECT_TRUE(tier.EndGroup(RamTrack("a"), 0, 4).ok());
  EXPECT_EQ(tier.EndGroup(RamTrack("a"), 0, 5).error().code(), ErrorCode::kMismatch);
  EXPECT_EQ(tier.Put(RamTrack("a"), ObjectAt(0, 4)).error().code(), ErrorCode::kMismatch);
  ASSERT_TRUE(tier.Put(RamTrack("a"), ObjectAt(2, 0)).ok());
  EXPECT_EQ(tier.EndTrack(RamTrack("a"), {2, 0}).error().code(), ErrorCode::kMismatch);
  ASSERT_TRUE(tier.EndTrack(RamTrack("a"), {2, 1}).ok());
  EXPECT_EQ(tier.Put(RamTrack("a"), ObjectAt(2, 1)).error().code(), ErrorCode::kMismatch);
  EXPECT_EQ(tier.Put(RamTrack("a"), ObjectAt(3, 0)).error().code(), ErrorCode::kMismatch);
  EXPECT_TRUE(tier.Put(RamTrack("a"), ObjectAt(1, 7)).ok());
}

TEST(RamTier, KnowsWhenAGroupIsWhole) {
  RamTier tier(1 << 20);
  EXPECT_FALSE(tier.FindGroup(RamTrack("a"), 0).has_value());
  ASSERT_TRUE(tier.Put(RamTrack("a"), ObjectAt(0, 0, "ab")).ok());
  EXPECT_FALSE(tier.FindGroup(RamTrack("a"), 0)->whole());
  ASSERT_TRUE(tier.EndGroup(RamTrack("a"), 0, 2).ok());
  EXPECT_FALSE(tier.FindGroup(RamTrack("a"), 0)->whole());
  ASSERT_TRUE(tier.Put(RamTrack("a"), ObjectAt(0, 1, "cde")).ok());
  EXPECT_TRUE(tier.FindGroup(RamTrack("a"), 0)->whole());
  EXPECT_EQ(tier.FindGroup(RamTrack("a"), 0)->payload_bytes, 5u);
}

TEST(RamTier, FindsTheNearestGroupEitherWay) {
  RamTier tier(1 << 20);
  for (const uint64_t group : {3u, 7u}) {
    ASSERT_TRUE(tier.Put(RamTrack("a"), ObjectAt(group, 0)).ok());
  }
  EXPECT_EQ(tier.GroupFrom(RamTrack("a"), 0), 3u);
  EXPECT_EQ(tier.GroupFrom(RamTrack("a"), 4), 7u);
  EXPECT_EQ(tier.GroupFrom(RamTrack("a"), 8), std::nullopt);
  EXPECT_EQ(tier.GroupUpTo(RamTrack("a"), 9), 7u);
  EXPECT_EQ(tier.GroupUpTo(RamTrack("a"), 6), 3u);
  EXPECT_EQ(tier.GroupUpTo(RamTrack("a"), 2), std::nullopt);
  EXPECT_EQ(tier.GroupFrom(RamTrack("b"), 0), std::nullopt);
}

TEST(RamTier, RemovesSingleObjectsAndTheirGroupWithTheLast) {
  RamTier tier(1 << 20);
  ASSERT_TRUE(tier.Describe(RamTrack("a"), {}).ok());
  const size_t empty = tier.bytes();
  ASSERT_TRUE(tier.Put(RamTrack("a"), ObjectAt(0, 0)).ok());
  ASSERT_TRUE(tier.Put(RamTrack("a"), ObjectAt(0, 1)).ok());
  ASSERT_TRUE(tier.EndGroup(RamTrack("a"), 0, 2).ok());
  const size_t with_two = tier.bytes();
  ASSERT_TRUE(tier.FindGroup(RamTrack("a"), 0)->whole());
  tier.Remove(RamTrack("a"), Location{0, 0});
  EXPECT_FALSE(tier.Get(RamTrack("a"), {0, 0}).has_value());
  EXPECT_TRUE(tier.Get(RamTrack("a"), {0, 1}).has_value());
  EXPECT_FALSE(tier.FindGroup(RamTrack("a"), 0)->whole());
  EXPECT_LT(tier.bytes(), with_two);
  EXPECT_EQ(tier.object_count(), 1u);
  for (const Location absent : {Location{0, 0}, Location{1, 0}}) {
    tier.Remove(RamTrack("a"), absent);
    tier.Remove(RamTrack("b"), absent);
  }
  tier.Remove(RamTrack("a"), Location{0, 1});
  EXPECT_FALSE(tier.GroupFrom(RamTrack("a"), 0).has_value());
  EXPECT_EQ(tier.bytes(), empty);
  EXPECT_EQ(tier.Find(RamTrack("a"))->largest, (Location{0, 1}));
  EXPECT_TRUE(tier.TakeEvicted().empty());
}

TEST(RamTier, ForgetsATrackOnlyWithoutObjects) {
  RamTier tier(1 << 20);
  const size_t empty = tier.bytes();
  const Properties properties = PropertiesBuilder().Number(2, 7).Build();
  ASSERT_TRUE(tier.Describe(RamTrack("a"), properties, Location{8, 1}).ok());
  ASSERT_TRUE(tier.Put(RamTrack("a"), ObjectAt(4, 2)).ok());
  EXPECT_EQ(tier.Find(RamTrack("a"))->largest, (Location{8, 1}));
  EXPECT_FALSE(tier.Forget(RamTrack("a")));
  tier.Remove(RamTrack("a"), 4);
  EXPECT_TRUE(tier.Forget(RamTrack("a")));
  EXPECT_EQ(tier.Find(RamTrack("a")), nullptr);
  EXPECT_EQ(tier.bytes(), empty);
}

// What can never be kept costs nobody else anything.
TEST(RamTier, EvictsNothingForWhatDoesNotFit) {
  RamTier tier(200'000);
  ASSERT_TRUE(tier.Put(RamTrack("a"), ObjectAt(0, 0)).ok());
  EXPECT_EQ(tier.Put(RamTrack("b"), ObjectAt(0, 0, std::string(200'001, 'x'))).error().code(),
            ErrorCode::kTooLarge);
  EXPECT_TRUE(tier.Get(RamTrack("a"), {0, 0}).has_value());
  EXPECT_EQ(tier.Find(RamTrack("b")), nullptr);
}

TEST(RamTier, ListsGroupsInOrderWithTheirKeys) {
  RamTierOptions options{.bytes_max = 1 << 20};
  options.key_property = 0x3801;
  RamTier tier = *RamTier::Of(options);
  Object first = ObjectAt(4, 0, "abc");
  first.properties = PropertiesBuilder()
                         .Immutable(PropertiesBuilder().Bytes(0x3801, std::string(32, 'k')).Build())
                         .Build();
  ASSERT_TRUE(tier.Put(RamTrack("b"), first).ok());
  ASSERT_TRUE(tier.EndGroup(RamTrack("b"), 4, 1).ok());
  for (const uint64_t group : {9u, 2u}) {
    ASSERT_TRUE(tier.Put(RamTrack("a"), ObjectAt(group, 0)).ok());
  }
  ASSERT_TRUE(tier.Describe(RamTrack("empty"), {}).ok());
  ASSERT_TRUE(tier.Put(RamTrack("c"), ObjectAt(0, 1)).ok());
  std::string order;
  std::optional<EvictedGroup> after;
  for (auto page = tier.Groups(after, 1); !page.empty(); page = tier.Groups(after, 1)) {
    ASSERT_EQ(page.size(), 1u);
    order += page[0].track.name() + std::to_string(page[0].group) + (page[0].key ? "k " : " ");
    after = EvictedGroup{page[0].track, page[0].group};
  }
  EXPECT_EQ(order, "a2 a9 b4k c0 ");
  EXPECT_EQ(tier.Groups(std::nullopt, 100).size(), 4u);
  const ListedGroup listed = tier.Groups(std::nullopt, 3)[2];
  EXPECT_EQ(AsText(listed.key->bytes), std::string(32, 'k'));
  EXPECT_TRUE(listed.facts.whole());
  EXPECT_EQ(listed.facts.payload_bytes, 3u);
}

TEST(RamTier, ListsAGroupAsWholeWhenWhatIsNotHereDoesNotExist) {
  RamTier tier(1 << 20);
  const LocationRange gap{{0, 1}, {0, 1}};
  ASSERT_TRUE(tier.Put(RamTrack("a"), ObjectAt(0, 0)).ok());
  ASSERT_TRUE(tier.CheckGap(RamTrack("a"), gap).ok());
  tier.AddGap(RamTrack("a"), gap);
  ASSERT_TRUE(tier.Put(RamTrack("a"), ObjectAt(0, 2)).ok());
  ASSERT_TRUE(tier.EndGroup(RamTrack("a"), 0, 3).ok());
  ASSERT_TRUE(tier.FindGroup(RamTrack("a"), 0)->whole());
  EXPECT_TRUE(tier.Groups(std::nullopt, 1)[0].facts.whole());
}

TEST(RamTier, KnowsWhatAnObjectLeavesOutBeforeIt) {
  RamTier tier(1 << 20);
  Object third = ObjectAt(0, 3);
  third.properties = PropertiesBuilder().Number(property::kPriorObjectIdGap, 2).Build();
  ASSERT_TRUE(tier.Put(RamTrack("a"), third).ok());
  EXPECT_EQ(tier.AbsentUpTo(RamTrack("a"), {0, 1}), 2u);
  EXPECT_EQ(tier.AbsentUpTo(RamTrack("a"), {0, 0}), std::nullopt);
  EXPECT_EQ(tier.Put(RamTrack("a"), ObjectAt(0, 2)).error().code(), ErrorCode::kMismatch);
  ASSERT_TRUE(tier.Put(RamTrack("a"), ObjectAt(0, 0)).ok());
  ASSERT_TRUE(tier.EndGroup(RamTrack("a"), 0, 4).ok());
  EXPECT_TRUE(tier.FindGroup(RamTrack("a"), 0)->whole());
  tier.AddGap(RamTrack("a"), {{0, 1}, {0, 1}});
  EXPECT_TRUE(tier.FindGroup(RamTrack("a"), 0)->whole()) << "what is said twice counts once";
  tier.Remove(RamTrack("a"), Location{0, 3});
  EXPECT_FALSE(tier.FindGroup(RamTrack("a"), 0)->whole());
  EXPECT_EQ(tier.AbsentUpTo(RamTrack("a"), {0, 2}), std::nullopt);
  Object fourth = ObjectAt(1, 3);
  ASSERT_TRUE(tier.Put(RamTrack("a"), ObjectAt(1, 2)).ok());
  fourth.properties = third.properties;
  EXPECT_EQ(tier.Put(RamTrack("a"), fourth).error().code(), ErrorCode::kMismatch);
}

// What is small must not keep what is large.
TEST(RamTier, GathersSmallPayloads) {
  RamTier tier(1 << 20);
  Object object = ObjectAt(0, 0, std::string(100'000, 'x'));
  object.payload = object.payload.Slice(70'000, 50);
  object.payload.Append(Bytes::Of("tail"));
  const size_t before = tier.bytes();
  ASSERT_TRUE(tier.Put(RamTrack("a"), object).ok());
  EXPECT_LT(tier.bytes() - before, 5000u);
  EXPECT_EQ(tier.Look(RamTrack("a"), {0, 0})->payload, object.payload);
}

TEST(RamTier, LooksWithoutCopying) {
  RamTier tier(1 << 20);
  ASSERT_TRUE(tier.Put(RamTrack("a"), ObjectAt(0, 0, "abc")).ok());
  EXPECT_EQ(tier.Look(RamTrack("a"), {0, 0})->payload, Bytes::Of("abc"));
  EXPECT_EQ(tier.Look(RamTrack("a"), {0, 1}), nullptr);
  EXPECT_EQ(tier.Look(RamTrack("b"), {0, 0}), nullptr);
}

// Names alone fill a tier as well.
TEST(RamTier, RefusesTracksThatItHasNoRoomFor) {
  RamTier tier(40000);
  size_t kept = 0;
  while (tier.Describe(RamTrack(std::to_string(kept)), {}).ok()) {
    ++kept;
    ASSERT_LT(kept, 1000u);
  }
  EXPECT_GT(kept, 10u);
  EXPECT_LE(tier.bytes(), 40000u);
  EXPECT_FALSE(tier.Put(RamTrack("x"), ObjectAt(0, 0)).ok());
}

// A peer may claim as many gaps as it likes.
TEST(RamTier, RemembersOnlySoManyGaps) {
  RamTier tier(1 << 20);
  const TrackName track = *TrackName::Of(*TrackNamespace::Of({"a", "b"}), "gaps");
  for (uint64_t group = 0; group < 5000; ++group) {
    tier.AddGap(track, LocationRange::Groups(2 * group, 2 * group));
    ASSERT_LE(tier.bytes(), size_t{1} << 20);
  }
  EXPECT_EQ(tier.Find(track)->gaps.size(), TrackFacts::kGapsMax);
  EXPECT_TRUE(tier.Find(track)->IsGone({0, 0}));
  EXPECT_FALSE(tier.Find(track)->IsGone({9998, 0}));
}

}  // namespace
}  // namespace kvcast
