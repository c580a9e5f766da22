#include "kvcast/moqt/wanted_range.h"

#include <gtest/gtest.h>

namespace kvcast::moqt {
namespace {

using Filter = SubscriptionFilter;

constexpr uint64_t kMax = LocationRange::kWholeGroup;

TEST(WantedBy, KnowsEveryFilter) {
  const LocationRange all{{0, 0}, {kMax, kMax}};
  EXPECT_EQ(WantedBy(std::nullopt, Location{3, 4}), all);
  const Filter next{Filter::Type::kNextGroupStart, {}, 0};
  EXPECT_EQ(WantedBy(next, Location{3, 4}), (LocationRange{{4, 0}, {kMax, kMax}}));
  EXPECT_EQ(WantedBy(next, std::nullopt), all);
  const Filter largest{Filter::Type::kLargestObject, {}, 0};
  EXPECT_EQ(WantedBy(largest, Location{3, 4}), (LocationRange{{3, 5}, {kMax, kMax}}));
  EXPECT_EQ(WantedBy(largest, Location{3, kMax}), (LocationRange{{4, 0}, {kMax, kMax}}));
  EXPECT_EQ(WantedBy(largest, std::nullopt), all);
  const Filter start{Filter::Type::kAbsoluteStart, {1, 2}, 0};
  EXPECT_EQ(WantedBy(start, Location{3, 4}), (LocationRange{{1, 2}, {kMax, kMax}}));
  const Filter range{Filter::Type::kAbsoluteRange, {1, 2}, 6};
  EXPECT_EQ(WantedBy(range, Location{3, 4}), (LocationRange{{1, 2}, {6, kMax}}));
}

// Numbers do not begin again after the largest that there is.
TEST(WantedBy, IsNothingAfterTheLastThatCanBe) {
  EXPECT_TRUE(WantedBy(Filter{Filter::Type::kNextGroupStart, {}, 0}, Location{kMax, 0}).empty());
  EXPECT_TRUE(WantedBy(Filter{Filter::Type::kLargestObject, {}, 0}, Location{kMax, kMax}).empty());
}

}  // namespace
}  // namespace kvcast::moqt
