#include "kvcast/codec/symbol_table.h"

#include <gtest/gtest.h>

#include "kvcast/base/random.h"

namespace kvcast {
namespace {

TEST(SymbolTable, RoundsTowardsZeroAsItSays) {
  SymbolTable table;
  table.rounding = 100;
  table.zero_below = 200;
  EXPECT_EQ(table.NumberOf(199), 0);
  EXPECT_EQ(table.NumberOf(200), 1);
  EXPECT_EQ(table.NumberOf(411), 1);
  EXPECT_EQ(table.NumberOf(412), 2);
  EXPECT_EQ(table.NumberOf(-412), -2);
  EXPECT_EQ(table.NumberOf(1 << 20), 4096);
}

TEST(SymbolTable, WritesFarNumbersElsewhere) {
  SymbolTable table;
  EXPECT_EQ(table.UpperByte(127), 127);
  EXPECT_EQ(table.UpperByte(-127), 129);
  EXPECT_EQ(table.UpperByte(128), SymbolTable::kFar);
  EXPECT_EQ(table.UpperByte(-128), SymbolTable::kFar);
  table.shift = 2;
  EXPECT_EQ(table.UpperByte(511), 127);
  EXPECT_EQ(table.UpperByte(512), SymbolTable::kFar);
  EXPECT_EQ(table.UpperByte(-508), 129);
}

TEST(SymbolTable, IsSoundOnlyIfItSharesOutAllAndLeavesRoomForOthers) {
  SymbolTable table;
  table.shares = {0, 0, 0, 0, 0, 0, 0, 255, 0, 0, 0, 0, 0, 0, 0, 1};
  EXPECT_TRUE(table.IsSound());
  table.shift = SymbolTable::kShiftMax + 1;
  EXPECT_FALSE(table.IsSound());
  table.shift = 0;
  table.shares[7] = 254;
  EXPECT_FALSE(table.IsSound());
  table.shares[7] = 255;
  table.shares[8] = 1;
  table.shares[15] = 0;
  EXPECT_FALSE(table.IsSound());
}

TEST(NumberCounts, AreSharedOutByHowOftenTheyAre) {
  NumberCounts counts;
  for (int i = 0; i < 1000; ++i) {
    counts.Add(i % 100 == 0 ? 1 : 0);
  }
  const SymbolTable table = counts.Fitted({});
  EXPECT_TRUE(table.IsSound());
  EXPECT_EQ(table.shift, 0);
  EXPECT_EQ(table.shares[7] + table.shares[8] + table.shares[15], 256);
  EXPECT_GT(table.shares[7], 245);
  EXPECT_NEAR(counts.BitsWith(table), 1000 * 0.09, 15);
}

TEST(NumberCounts, OfLargeNumbersLeaveLowerBitsAsTheyAre) {
  NumberCounts counts;
  Random random(3);
  for (int i = 0; i < 10'000; ++i) {
    counts.Add(static_cast<int32_t>(random.Below(101)) - 50);
  }
  const SymbolTable table = counts.Fitted({});
  EXPECT_EQ(table.shift, 3);
  EXPECT_NEAR(counts.BitsWith(table) / 10'000, 6.7, 0.1);
}

TEST(NumberCounts, OfNothingStillMakeATable) { EXPECT_TRUE(NumberCounts().Fitted({}).IsSound()); }

}  // namespace
}  // namespace kvcast
