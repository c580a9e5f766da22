#include "kvcast/relay/range_watch.h"

#include <gtest/gtest.h>

#include <map>

#include "kvcast/moqt/prior_gaps.h"

namespace kvcast::relay {
namespace {

using Answer = RangeWatch::Answer;

constexpr uint64_t kMaxId = LocationRange::kWholeGroup;
constexpr Instant kStart{};
constexpr Duration kSecond = std::chrono::seconds(1);

Object At(Location location, uint64_t group_gap = 0, uint64_t object_gap = 0) {
  Object object;
  object.location = location;
  PropertiesBuilder properties;
  if (group_gap > 0) {
    properties.Number(property::kPriorGroupIdGap, group_gap);
  }
  if (object_gap > 0) {
    properties.Number(property::kPriorObjectIdGap, object_gap);
  }
  object.properties = std::move(properties).Build();
  return object;
}

TrackFacts UpTo(Location largest) {
  TrackFacts facts;
  facts.largest = largest;
  return facts;
}

void Tell(RangeWatch& watch, const Object& object, Instant now) {
  watch.OnObject(object.location, moqt::PriorGaps::Of(object).Before(object.location), now);
}

// Groups of so many objects each, of which all have come or not.
struct Groups {
  std::map<uint64_t, GroupFacts> known;
  size_t looks = 0;

  RangeWatch::Look Look() {
    return {[this](uint64_t group) -> std::optional<GroupFacts> {
              ++looks;
              const auto found = known.find(group);
              return found == known.end() ? std::nullopt : std::optional(found->second);
            },
            [this](uint64_t group) -> std::optional<uint64_t> {
              const auto found = known.lower_bound(group);
              return found == known.end() ? std::nullopt : std::optional(found->first);
            }};
  }
};

TEST(RangeWatch, KnowsThatARangeWithoutALastGroupHasNoEnd) {
  EXPECT_FALSE(RangeWatch({{0, 0}, {kMaxId, kMaxId}}, TrackFacts()).has_end());
  EXPECT_TRUE(RangeWatch({{0, 0}, {kMaxId - 1, kMaxId}}, TrackFacts()).has_end());
}

TEST(RangeWatch, IsOverWhenEveryGroupIsWhole) {
  RangeWatch watch({{3, 2}, {5, kMaxId}}, TrackFacts());
  Groups groups;
  groups.known[4] = {2, 2, 0};
  groups.known[5] = {2, 2, 0};
  EXPECT_EQ(watch.Ask(groups.Look(), kStart), Answer::kUnknown);
  groups.known[3] = {std::nullopt, 2, 0};
  EXPECT_EQ(watch.Ask(groups.Look(), kStart), Answer::kUnknown);
  groups.known[3] = {2, 1, 0};
  EXPECT_EQ(watch.Ask(groups.Look(), kStart), Answer::kUnknown);
  groups.known[3] = {2, 2, 0};
  EXPECT_EQ(watch.Ask(groups.Look(), kStart), Answer::kOver);
}

// What was whole once is not asked for again, and may have been evicted since.
TEST(RangeWatch, RemembersHowFarGroupsWereWhole) {
  RangeWatch watch({{0, 0}, {1, kMaxId}}, TrackFacts());
  Groups groups;
  groups.known[0] = {1, 1, 0};
  EXPECT_EQ(watch.Ask(groups.Look(), kStart), Answer::kUnknown);
  groups.known.clear();
  groups.known[1] = {1, 1, 0};
  EXPECT_EQ(watch.Ask(groups.Look(), kStart), Answer::kOver);
}

TEST(RangeWatch, TakesGroupsThatDoNotExistForWhole) {
  RangeWatch watch({{0, 0}, {kMaxId - 1, kMaxId}}, TrackFacts());
  Groups groups;
  groups.known[0] = {1, 1, 0};
  Tell(watch, At({kMaxId, 0}, kMaxId - 1), kStart);
  EXPECT_EQ(watch.Ask(groups.Look(), kStart), Answer::kOver);
}

TEST(RangeWatch, CountsObjectsThatDoNotExist) {
  RangeWatch watch({{0, 0}, {0, kMaxId}}, TrackFacts());
  Groups groups;
  groups.known[0] = {7, 2, 0};
  Tell(watch, At({0, 3}, 0, 3), kStart);
  EXPECT_EQ(watch.Ask(groups.Look(), kStart), Answer::kUnknown);
  Tell(watch, At({0, 6}, 0, 2), kStart);
  EXPECT_EQ(watch.Ask(groups.Look(), kStart), Answer::kOver);
}

// One that was evicted may come again, and tell the same.
TEST(RangeWatch, CountsAGapOnceHoweverOftenItIsTold) {
  RangeWatch watch({{0, 0}, {0, kMaxId}}, TrackFacts());
  Groups groups;
  groups.known[0] = {7, 1, 0};  // It has {0, 3}; 4, 5 and 6 are to come.
  Tell(watch, At({0, 3}, 0, 3), kStart);
  Tell(watch, At({0, 3}, 0, 3), kStart);
  EXPECT_EQ(watch.Ask(groups.Look(), kStart), Answer::kUnknown);
  groups.known[0] = {7, 4, 0};
  EXPECT_EQ(watch.Ask(groups.Look(), kStart), Answer::kOver);
}

TEST(RangeWatch, KnowsWhatWasToldBeforeItBegan) {
  TrackFacts facts = UpTo({9, 0});
  facts.gaps = {LocationRange::Groups(1, 3), {{0, 1}, {0, 2}}, LocationRange::Groups(2, 2)};
  RangeWatch watch({{0, 0}, {3, kMaxId}}, facts);
  Groups groups;
  groups.known[0] = {4, 1, 0};
  EXPECT_EQ(watch.Ask(groups.Look(), kStart), Answer::kUnknown);
  groups.known[0] = {4, 2, 0};
  Tell(watch, At({0, 3}, 0, 2), kStart);  // Told again.
  EXPECT_EQ(watch.Ask(groups.Look(), kStart), Answer::kOver);
}

TEST(RangeWatch, IsOverWhereItsTrackIs) {
  TrackFacts facts = UpTo({1, 1});
  facts.end = Location{1, 2};
  RangeWatch watch({{1, 0}, {8, kMaxId}}, facts);
  Groups groups;
  groups.known[1] = {2, 1, 0};
  EXPECT_EQ(watch.Ask(groups.Look(), kStart), Answer::kUnknown);
  groups.known[1] = {2, 2, 0};
  EXPECT_EQ(watch.Ask(groups.Look(), kStart), Answer::kOver);
}

TEST(RangeWatch, IsQuietSinceTheLastOfTheRangeOnceTheTrackIsPastIt) {
  RangeWatch watch({{1, 1}, {2, kMaxId}}, UpTo({2, 9}));
  EXPECT_EQ(watch.quiet_since(), std::nullopt);
  Tell(watch, At({2, 10}), kStart + 1 * kSecond);
  EXPECT_EQ(watch.quiet_since(), std::nullopt);
  Tell(watch, At({3, 0}), kStart + 2 * kSecond);
  Tell(watch, At({4, 0}), kStart + 3 * kSecond);
  Tell(watch, At({1, 0}), kStart + 4 * kSecond);
  watch.OnSubgroupEnd(3, kStart + 5 * kSecond);
  watch.OnSubgroupEnd(0, kStart + 5 * kSecond);
  EXPECT_EQ(watch.quiet_since(), kStart + 2 * kSecond);
  Tell(watch, At({1, 1}), kStart + 6 * kSecond);
  EXPECT_EQ(watch.quiet_since(), kStart + 6 * kSecond);
  watch.OnSubgroupEnd(1, kStart + 7 * kSecond);
  EXPECT_EQ(watch.quiet_since(), kStart + 7 * kSecond);
}

// A track that goes downwards is past it from the start, and brings it nevertheless.
TEST(RangeWatch, IsNotQuietOnlyBecauseTheTrackIsPastIt) {
  RangeWatch watch({{0, 0}, {2, kMaxId}}, UpTo({3, 0}));
  Groups groups;
  EXPECT_EQ(watch.Ask(groups.Look(), kStart), Answer::kUnknown);
  EXPECT_EQ(watch.quiet_since(), std::nullopt);
  Tell(watch, At({2, 0}), kStart + 1 * kSecond);
  EXPECT_EQ(watch.quiet_since(), kStart + 1 * kSecond);
}

TEST(RangeWatch, IsQuietSinceItWasSeenThatSomethingHadComeBefore) {
  RangeWatch watch({{0, 0}, {2, kMaxId}}, UpTo({3, 0}));
  Groups groups;
  groups.known[0] = {std::nullopt, 1, 0};
  EXPECT_EQ(watch.Ask(groups.Look(), kStart + 1 * kSecond), Answer::kUnknown);
  EXPECT_EQ(watch.Ask(groups.Look(), kStart + 2 * kSecond), Answer::kUnknown);
  EXPECT_EQ(watch.quiet_since(), kStart + 1 * kSecond);
}

// Whichever group it was in; one that is only known to have ended has brought nothing.
TEST(RangeWatch, IsQuietAlsoWhereTheFirstGroupNeverCame) {
  Groups groups;
  groups.known[1] = {0, 0, 0};
  groups.known[4] = {std::nullopt, 1, 0};
  RangeWatch before({{0, 0}, {3, kMaxId}}, UpTo({9, 0}));
  EXPECT_EQ(before.Ask(groups.Look(), kStart), Answer::kUnknown);
  EXPECT_EQ(before.quiet_since(), std::nullopt);
  RangeWatch with({{0, 0}, {4, kMaxId}}, UpTo({9, 0}));
  EXPECT_EQ(with.Ask(groups.Look(), kStart + 1 * kSecond), Answer::kUnknown);
  EXPECT_EQ(with.Ask(groups.Look(), kStart + 2 * kSecond), Answer::kUnknown);
  EXPECT_EQ(with.quiet_since(), kStart + 1 * kSecond);
}

TEST(RangeWatch, LooksForABeginningInSoManyGroupsAtOnce) {
  Groups groups;
  for (uint64_t group = 1; group < 1000; ++group) {
    groups.known[group] = {0, 0, 0};
  }
  groups.known[1000] = {std::nullopt, 1, 0};
  RangeWatch watch({{0, 0}, {1000, kMaxId}}, UpTo({2000, 0}));
  size_t asked = 1;
  while (watch.Ask(groups.Look(), kStart) == Answer::kMore) {
    ASSERT_LE(groups.looks, 300 * asked++);
  }
  EXPECT_GT(asked, 3u);
  EXPECT_EQ(watch.quiet_since(), kStart);
}

TEST(RangeWatch, LooksAtSoManyGroupsAtOnce) {
  RangeWatch watch({{0, 0}, {999, kMaxId}}, TrackFacts());
  Groups groups;
  for (uint64_t group = 0; group < 1000; ++group) {
    groups.known[group] = {1, 1, 0};
  }
  size_t asked = 1;
  while (watch.Ask(groups.Look(), kStart) == Answer::kMore) {
    ASSERT_LE(groups.looks, 300 * asked++);
  }
  EXPECT_EQ(watch.Ask(groups.Look(), kStart), Answer::kOver);
  EXPECT_EQ(groups.looks, 1000u);
}

// Every other group does not exist; gaps that were passed make room for others.
TEST(RangeWatch, FollowsASparseTrackToItsEnd) {
  RangeWatch watch({{0, 0}, {1999, kMaxId}}, TrackFacts());
  Groups groups;
  Answer answer = Answer::kUnknown;
  for (uint64_t group = 1; group <= 1999; group += 2) {
    EXPECT_EQ(answer, Answer::kUnknown) << group;
    groups.known[group] = {1, 1, 0};
    Tell(watch, At({group, 0}, 1), kStart);
    answer = watch.Ask(groups.Look(), kStart);
  }
  EXPECT_EQ(answer, Answer::kOver);
}

// Who comes first is not always who is first: nothing has been left alone that has not begun.
TEST(RangeWatch, IsNotQuietBeforeAnythingOfItHasCome) {
  RangeWatch watch({{0, 0}, {5, kMaxId}}, TrackFacts());
  Tell(watch, At({12, 0}), kStart);
  EXPECT_TRUE(watch.TakeMoved());
  Tell(watch, At({11, 0}), kStart + 4 * kSecond);
  EXPECT_FALSE(watch.TakeMoved());
  EXPECT_EQ(watch.quiet_since(), std::nullopt);
  Tell(watch, At({5, 0}), kStart + 9 * kSecond);
  EXPECT_TRUE(watch.TakeMoved());
  EXPECT_EQ(watch.quiet_since(), kStart + 9 * kSecond);
}

// A publisher cannot make us remember more and more.
TEST(RangeWatch, DoesNotKnowOfGapsBeyondSoMany) {
  RangeWatch watch({{0, 0}, {1999, kMaxId}}, TrackFacts());
  Groups groups;
  for (uint64_t group = 1; group <= 2001; group += 2) {
    groups.known[group] = {1, 1, 0};
    Tell(watch, At({group, 0}, 1), kStart);
  }
  Answer answer = Answer::kMore;
  while (answer == Answer::kMore) {
    answer = watch.Ask(groups.Look(), kStart);
  }
  EXPECT_EQ(answer, Answer::kUnknown);
}

}  // namespace
}  // namespace kvcast::relay
