#include "kvcast/relay/fetch_progress.h"

#include <gtest/gtest.h>

#include <set>
#include <utility>
#include <vector>

#include "kvcast/base/random.h"

namespace kvcast::relay {
namespace {

using moqt::GroupOrder;
using Ranges = std::vector<LocationRange>;

constexpr uint64_t kAll = LocationRange::kWholeGroup;

TEST(FetchProgress, TellsWhatLiesBetween) {
  FetchProgress progress({{0, 2}, {3, 4}}, GroupOrder::kAscending);
  EXPECT_TRUE(progress.Pass({0, 2}).empty());
  EXPECT_EQ(progress.Pass({0, 5}), (Ranges{{{0, 3}, {0, 4}}}));
  EXPECT_EQ(progress.Pass({2, 1}), (Ranges{{{0, 6}, {2, 0}}}));
  EXPECT_FALSE(progress.IsToCome({2, 1}));
  EXPECT_TRUE(progress.IsToCome({2, 2}));
  EXPECT_EQ(progress.ToCome(), (Ranges{{{2, 2}, {3, 4}}}));
  EXPECT_EQ(progress.Finish(), (Ranges{{{2, 2}, {3, 4}}}));
  EXPECT_TRUE(progress.ToCome().empty());
}

TEST(FetchProgress, TellsWhatLiesBetweenBackwards) {
  FetchProgress progress({{0, 2}, {3, 4}}, GroupOrder::kDescending);
  EXPECT_TRUE(progress.Pass({3, 0}).empty());
  EXPECT_EQ(progress.ToCome(), (Ranges{{{3, 1}, {3, 4}}, {{0, 2}, {2, kAll}}}));
  EXPECT_EQ(progress.Pass({1, 1}),
            (Ranges{{{3, 1}, {3, 4}}, {{2, 0}, {2, kAll}}, {{1, 0}, {1, 0}}}));
  EXPECT_TRUE(progress.IsToCome({1, 2}));
  EXPECT_TRUE(progress.IsToCome({0, 2}));
  EXPECT_FALSE(progress.IsToCome({3, 2}));
  EXPECT_EQ(progress.PassedOf({{3, 2}, {3, 9}}, GroupOrder::kAscending), (Location{3, 4}));
  EXPECT_EQ(progress.PassedOf({{1, 0}, {3, 9}}, GroupOrder::kAscending), (Location{1, 1}));
}

TEST(FetchProgress, GoesNoFurtherThanTheTrack) {
  FetchProgress progress(LocationRange::Groups(0, 9), GroupOrder::kDescending);
  progress.Clip({4, 2});
  EXPECT_FALSE(progress.IsToCome({4, 3}));
  EXPECT_EQ(progress.Pass({4, 1}), (Ranges{{{4, 0}, {4, 0}}}));
  FetchProgress nothing(LocationRange::Groups(3, 9), GroupOrder::kAscending);
  nothing.Clip({2, kAll});
  EXPECT_TRUE(nothing.ToCome().empty());
}

// Who wants more of a group than the range has hears nothing of the rest by its passing.
TEST(FetchProgress, PassesWhatIsWantedNoFurtherThanItWasAskedFor) {
  FetchProgress progress({{1, 2}, {3, 4}}, GroupOrder::kDescending);
  (void)progress.Pass({1, 3});
  const auto down = GroupOrder::kDescending;
  EXPECT_EQ(progress.PassedOf({{1, 2}, {3, 4}}, down), (Location{1, 3}));
  EXPECT_EQ(progress.PassedOf({{1, 3}, {2, kAll}}, down), (Location{1, 3}));
  EXPECT_EQ(progress.PassedOf({{1, 1}, {3, 4}}, down), (Location{2, kAll}));
  EXPECT_EQ(progress.PassedOf({{0, 0}, {2, 1}}, down), (Location{2, kAll}));
  EXPECT_EQ(progress.PassedOf({{1, 2}, {3, 5}}, down), (Location{3, 4}));
  EXPECT_EQ(progress.PassedOf({{2, 0}, {2, 7}}, down), (Location{2, 7}));
  (void)progress.Finish();
  EXPECT_EQ(progress.PassedOf({{1, 2}, {3, 4}}, down), (Location{1, kAll}));
  EXPECT_EQ(progress.PassedOf({{0, 0}, {3, 4}}, down), (Location{2, kAll}));
}

// What lies beyond the end of a track as one knows it is over with it, and nothing else is.
TEST(FetchProgress, PassesWhatTheTrackDoesNotHave) {
  FetchProgress progress(LocationRange::Groups(0, 9), GroupOrder::kDescending);
  progress.Clip({4, 2});
  EXPECT_EQ(progress.PassedOf(LocationRange::Groups(0, 9), GroupOrder::kDescending),
            (Location{5, kAll}));
  EXPECT_EQ(progress.PassedOf(LocationRange::Groups(7, 9), GroupOrder::kDescending),
            (Location{7, kAll}));
  EXPECT_EQ(progress.PassedOf(LocationRange::Groups(5, 9), GroupOrder::kAscending),
            (Location{9, kAll}));
}

// What was passed, what lay between, and what is left are the range, and nothing is twice.
TEST(FetchProgress, LosesNothing) {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    Random random(seed);
    const GroupOrder order = seed % 2 == 0 ? GroupOrder::kAscending : GroupOrder::kDescending;
    const LocationRange range{{0, random.Below(4)}, {random.Below(4), random.Below(5)}};
    if (range.empty()) {
      continue;
    }
    FetchProgress progress(range, order);
    std::multiset<Location> seen;
    const auto note = [&](const Ranges& ranges) {
      for (uint64_t group = 0; group < 4; ++group) {
        for (uint64_t object = 0; object < 6; ++object) {
          for (const LocationRange& each : ranges) {
            if (each.Contains({group, object})) {
              seen.insert({group, object});
            }
          }
        }
      }
    };
    for (int i = 0; i < 4; ++i) {
      const Location at{random.Below(4), random.Below(6)};
      if (progress.IsToCome(at)) {
        note(progress.Pass(at));
        seen.insert(at);
      }
    }
    note(progress.Finish());
    std::multiset<Location> all;
    for (uint64_t group = 0; group < 4; ++group) {
      for (uint64_t object = 0; object < 6; ++object) {
        if (range.Contains({group, object})) {
          all.insert({group, object});
        }
      }
    }
    EXPECT_EQ(seen, all) << seed;
  }
}

}  // namespace
}  // namespace kvcast::relay
