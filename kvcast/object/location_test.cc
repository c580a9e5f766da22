#include "kvcast/object/location.h"

#include <gtest/gtest.h>

namespace kvcast {
namespace {

TEST(Location, IsOrderedByGroupThenObject) {
  EXPECT_LT((Location{1, 9}), (Location{2, 0}));
  EXPECT_LT((Location{2, 0}), (Location{2, 1}));
  EXPECT_EQ((Location{3, 17}).ToString(), "{3, 17}");
}

TEST(LocationRange, HoldsBothItsEnds) {
  const LocationRange range{{1, 5}, {2, 3}};
  EXPECT_TRUE(range.Contains({1, 5}));
  EXPECT_TRUE(range.Contains({1, 999}));
  EXPECT_TRUE(range.Contains({2, 3}));
  EXPECT_FALSE(range.Contains({2, 4}));
  EXPECT_FALSE(range.Contains({1, 4}));
}

TEST(LocationRange, OfGroupsHoldsEveryObjectOfThem) {
  EXPECT_TRUE(LocationRange::Groups(2, 3).Contains({3, ~uint64_t{0}}));
  EXPECT_FALSE(LocationRange::Groups(2, 3).Contains({4, 0}));
}

TEST(LocationRange, IntersectsWithWhatBothHold) {
  const LocationRange a{{1, 0}, {3, 0}};
  EXPECT_EQ(a.Intersect({{2, 5}, {9, 0}}), (LocationRange{{2, 5}, {3, 0}}));
  EXPECT_EQ(a.Intersect({{3, 1}, {9, 0}}), std::nullopt);
  EXPECT_EQ(a.Intersect({{2, 1}, {2, 0}}), std::nullopt);  // Empty to begin with.
}

}  // namespace
}  // namespace kvcast
