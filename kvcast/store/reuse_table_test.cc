#include "kvcast/store/reuse_table.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <set>

#include "kvcast/base/random.h"

namespace kvcast {
namespace {

constexpr uint64_t kTier = 1 << 20;

// Groups of a kind, of which a part leaves each age by being used.
void Show(ReuseTable& table, size_t kind, size_t groups,
          const std::function<double(size_t age)>& part_used, uint64_t seed) {
  Random random(seed);
  for (size_t i = 0; i < groups; ++i) {
    for (size_t age = 0; age < ReuseTable::kAges; ++age) {
      const size_t cell = ReuseTable::CellOf(kind, age);
      table.Enter(cell);
      if (random.Happens(part_used(age))) {
        table.LeaveUsed(cell);
        break;
      }
      table.LeaveOlder(cell);
    }
  }
}

TEST(ReuseTable, EveryCellStandsOnceInTheOrder) {
  const ReuseTable table(kTier);
  EXPECT_EQ(std::set<uint16_t>(table.order().begin(), table.order().end()).size(),
            ReuseTable::kCells);
}

TEST(ReuseTable, CountsUsesInDoublingSteps) {
  EXPECT_EQ(ReuseTable::KindOf(1, true), 0u);
  EXPECT_EQ(ReuseTable::KindOf(1, false), 1u);
  EXPECT_EQ(ReuseTable::KindOf(2, true), 2u);
  EXPECT_EQ(ReuseTable::KindOf(4, false), 4u);
  EXPECT_EQ(ReuseTable::KindOf(5, false), 5u);
  EXPECT_EQ(ReuseTable::KindOf(8, false), 5u);
  EXPECT_EQ(ReuseTable::KindOf(9, false), 6u);
  EXPECT_EQ(ReuseTable::KindOf(33, false), 8u);
  EXPECT_EQ(ReuseTable::KindOf(~uint64_t{0}, false), 8u);
}

TEST(ReuseTable, AgesGrowAndCoverSixteenTiers) {
  for (const uint64_t tier : {uint64_t{1}, uint64_t{100}, kTier, uint64_t{1} << 50}) {
    const ReuseTable table(tier);
    EXPECT_EQ(table.AgeBegin(0), 0u);
    for (size_t age = 1; age < ReuseTable::kAges; ++age) {
      EXPECT_GT(table.AgeBegin(age), table.AgeBegin(age - 1));
    }
    EXPECT_GE(table.AgeBegin(ReuseTable::kAges - 1), tier / 16 * 255);
  }
}

// Who knows nothing does as LRU does.
TEST(ReuseTable, HoldsTheYoungToBeWorthMoreBeforeItHasSeenAny) {
  const ReuseTable table(kTier);
  for (size_t age = 1; age < ReuseTable::kAges; ++age) {
    EXPECT_LT(table.Worth(ReuseTable::CellOf(1, age)), table.Worth(ReuseTable::CellOf(1, age - 1)));
  }
}

TEST(ReuseTable, HoldsWhatIsUsedMoreToBeWorthMore) {
  ReuseTable table(kTier);
  Show(
      table, 1, 5'000, [](size_t) { return 0.01; }, 1);
  Show(
      table, 3, 5'000, [](size_t) { return 0.2; }, 2);
  table.Learn();
  EXPECT_GT(table.Worth(ReuseTable::CellOf(3, 0)), 5 * table.Worth(ReuseTable::CellOf(1, 0)));
}

// Readers read before they answer: nothing comes back soon, and what has waited is worth more
// than what has only come.
TEST(ReuseTable, HoldsWhatIsDueToBeWorthMoreThanWhatHasOnlyCome) {
  ReuseTable table(kTier);
  Show(
      table, 1, 20'000, [](size_t age) { return age == 8 ? 0.5 : 0; }, 3);
  table.Learn();
  EXPECT_GT(table.Worth(ReuseTable::CellOf(1, 8)), 2 * table.Worth(ReuseTable::CellOf(1, 0)));
  EXPECT_LT(table.Worth(ReuseTable::CellOf(1, 9)), table.Worth(ReuseTable::CellOf(1, 0)));
}

// The index of a chance that is the same in each byte is that chance.
TEST(ReuseTable, IsTheRateWhereTheRateIsConstant) {
  ReuseTable table(kTier);
  const double rate = 0.1 / static_cast<double>(kTier);
  const auto used = [&](size_t age) {
    const auto width = static_cast<double>(table.AgeBegin(age + 1) - table.AgeBegin(age));
    return 1 - std::exp(-rate * width);
  };
  for (size_t kind = 0; kind < ReuseTable::kKinds; ++kind) {
    Show(
        table, kind, 20'000,
        [&](size_t age) { return age + 1 < ReuseTable::kAges ? used(age) : 0.1; }, kind);
  }
  table.Learn();
  EXPECT_NEAR(table.Worth(ReuseTable::CellOf(1, 0)) / rate, 1, 0.25);
  EXPECT_NEAR(table.Worth(ReuseTable::CellOf(4, 5)) / rate, 1, 0.25);
}

// Records may say that what was used more often comes back less; the front of a prefix would then
// go before the rest of it.
TEST(ReuseTable, NeverHoldsMoreUsesToBeWorthLess) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    ReuseTable table(kTier);
    Random random(seed);
    for (size_t kind = 0; kind < ReuseTable::kKinds; ++kind) {
      const double part = static_cast<double>(random.Below(100)) / 400;
      Show(
          table, kind, random.Below(500), [&](size_t) { return part; }, seed * 100 + kind);
    }
    table.Learn();
    for (size_t age = 0; age < ReuseTable::kAges; ++age) {
      for (size_t kind = 2; kind < ReuseTable::kKinds; ++kind) {
        ASSERT_GE(table.Worth(ReuseTable::CellOf(kind, age)),
                  table.Worth(ReuseTable::CellOf(kind - 1, age)))
            << "seed " << seed << " kind " << kind << " age " << age;
      }
    }
  }
}

TEST(ReuseTable, ForgetsInTime) {
  ReuseTable table(kTier);
  Show(
      table, 1, 20'000, [](size_t) { return 0.3; }, 5);
  table.Learn();
  const double before = table.Worth(ReuseTable::CellOf(1, 0));
  for (int i = 0; i < 1'000; ++i) {
    table.Learn();
  }
  EXPECT_LT(table.Worth(ReuseTable::CellOf(1, 0)), before / 10);
}

}  // namespace
}  // namespace kvcast
