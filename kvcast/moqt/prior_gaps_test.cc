#include "kvcast/moqt/prior_gaps.h"

#include <gtest/gtest.h>

#include "kvcast/object/properties.h"

namespace kvcast::moqt {
namespace {

std::vector<LocationRange> GapsBefore(Location at, const Properties& properties) {
  Object object;
  object.location = at;
  object.properties = properties;
  return PriorGaps::Of(object).Before(at);
}

TEST(PriorGaps, AreWhereTheObjectSaysThatNothingStands) {
  const Properties both = PropertiesBuilder()
                              .Number(property::kPriorGroupIdGap, 2)
                              .Number(property::kPriorObjectIdGap, 3)
                              .Build();
  EXPECT_EQ(GapsBefore({7, 4}, both),
            (std::vector<LocationRange>{LocationRange::Groups(5, 6), {{7, 1}, {7, 3}}}));
  EXPECT_EQ(GapsBefore({7, 4}, PropertiesBuilder().Immutable(both).Build()).size(), 2u);
  EXPECT_TRUE(GapsBefore({7, 4}, {}).empty());
}

TEST(PriorGaps, ThatReachBelowZeroOrNowhereAreNone) {
  const Properties none = PropertiesBuilder()
                              .Number(property::kPriorGroupIdGap, 0)
                              .Number(property::kPriorObjectIdGap, 5)
                              .Build();
  EXPECT_TRUE(GapsBefore({7, 4}, none).empty());
}

}  // namespace
}  // namespace kvcast::moqt
