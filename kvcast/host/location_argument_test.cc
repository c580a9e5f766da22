#include "kvcast/host/location_argument.h"

#include <gtest/gtest.h>

namespace kvcast {
namespace {

constexpr uint64_t kAll = LocationRange::kWholeGroup;

TEST(LocationArgument, RangesIncludeBothEnds) {
  EXPECT_EQ(*ParseLocationRange("3"), (LocationRange{{3, 0}, {3, kAll}}));
  EXPECT_EQ(*ParseLocationRange("3-5"), (LocationRange{{3, 0}, {5, kAll}}));
  EXPECT_EQ(*ParseLocationRange("3/2"), (LocationRange{{3, 2}, {3, 2}}));
  EXPECT_EQ(*ParseLocationRange("3/2-5/7"), (LocationRange{{3, 2}, {5, 7}}));
  EXPECT_EQ(*ParseLocationRange("3/2-5"), (LocationRange{{3, 2}, {5, kAll}}));
  EXPECT_EQ(ParseLocationRange("3-")->first, (Location{3, 0}));
  EXPECT_GT(ParseLocationRange("3-")->last.group, uint64_t{1} << 61);
}

TEST(LocationArgument, OnePlaceIsAGroupsBeginningOrAnObject) {
  EXPECT_EQ(*ParseLocation("7"), (Location{7, 0}));
  EXPECT_EQ(*ParseLocation("7/9"), (Location{7, 9}));
}

TEST(LocationArgument, AnythingElseIsInvalid) {
  for (const char* text : {"", "-", "-3", "a", "3/", "/3", "3//4", "3-2", "3/4-3/3", "1-2-3", "+1",
                           "3 ", "99999999999999999999", "0x1"}) {
    EXPECT_FALSE(ParseLocationRange(text).ok()) << text;
  }
  EXPECT_FALSE(ParseLocation("3-4").ok());
}

}  // namespace
}  // namespace kvcast
