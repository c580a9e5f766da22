#include "kvcast/codec/rung_promise.h"

#include <gtest/gtest.h>

namespace kvcast {
namespace {

// Which of two exact rungs is the smaller one is no matter of truth.
TEST(RungPromise, IsKeptByExactValuesAtEveryRung) {
  for (const Rung came : AllRungs()) {
    for (const Rung published : AllRungs()) {
      EXPECT_TRUE(!IsExact(came) || KeepsPromise(came, published))
          << ToString(came) << " as " << ToString(published);
    }
  }
}

TEST(RungPromise, IsNotKeptAtTruerRungsThanValuesCameAt) {
  for (const Rung came : AllRungs()) {
    EXPECT_TRUE(KeepsPromise(came, came));
    for (const Rung published : AllRungs()) {
      if (!IsExact(came) && (IsExact(published) || IsTruer(published, came))) {
        EXPECT_FALSE(KeepsPromise(came, published))
            << ToString(came) << " as " << ToString(published);
      }
    }
  }
  EXPECT_TRUE(KeepsPromise(Rung::kInt8, Rung::kKtcCoarse));
  EXPECT_FALSE(KeepsPromise(Rung::kKtcCoarse, Rung::kKtcMedium));
}

// Whoever sorts a new rung among the true ones has to say whether it is exact.
TEST(RungPromise, OfExactRungsIsAboveAllOthers) {
  bool exact = true;
  for (const Rung rung : RungsByQuality()) {
    EXPECT_TRUE(exact || !IsExact(rung)) << ToString(rung);
    exact = IsExact(rung);
  }
}

TEST(RungPromise, OfTwoIsTheLesser) {
  EXPECT_EQ(LessTrue({}, {}), std::nullopt);
  EXPECT_EQ(LessTrue(Rung::kInt8, {}), Rung::kInt8);
  EXPECT_EQ(LessTrue({}, Rung::kInt8), Rung::kInt8);
  EXPECT_EQ(LessTrue(Rung::kInt8, Rung::kKtcCoarse), Rung::kKtcCoarse);
  EXPECT_EQ(LessTrue(Rung::kKtcCoarse, Rung::kBf16), Rung::kKtcCoarse);
}

}  // namespace
}  // namespace kvcast
