#include "kvcast/store/admission.h"

#include <gtest/gtest.h>

namespace kvcast {
namespace {

StoredGroup Group(uint64_t handle) { return {handle, 1, handle, 10}; }

TEST(AdmitSecond, LetsInWhatComesAgain) {
  AdmitSecond admission({.bytes_max = 100, .ghosts_max = 10});
  EXPECT_FALSE(admission.Admits(Group(1)));
  EXPECT_TRUE(admission.Admits(Group(1)));
  EXPECT_FALSE(admission.Admits(Group(1))) << "It was let in, and begins anew when it has gone.";
}

TEST(AdmitSecond, ForgetsTheOldestBeyondTheBytesOfTheTier) {
  AdmitSecond admission({.bytes_max = 30, .ghosts_max = 10});
  for (uint64_t handle = 1; handle <= 4; ++handle) {
    EXPECT_FALSE(admission.Admits(Group(handle)));
  }
  EXPECT_FALSE(admission.Admits(Group(1)));
  EXPECT_TRUE(admission.Admits(Group(4)));
}

TEST(AdmitSecond, RemembersNoMoreThanItMay) {
  AdmitSecond admission({.bytes_max = 1'000'000, .ghosts_max = 50});
  size_t bytes_max = 0;
  for (uint64_t handle = 1; handle <= 5'000; ++handle) {
    admission.Admits(Group(handle));
    if (handle == 200) {
      bytes_max = admission.bytes();
    }
  }
  EXPECT_LE(admission.bytes(), bytes_max);
  EXPECT_FALSE(admission.Admits(Group(4'950)));
  EXPECT_TRUE(admission.Admits(Group(5'000)));
}

TEST(AdmitSecond, CostsNothingWhenNothingIsRemembered) {
  AdmitSecond admission({.bytes_max = 1'000'000, .ghosts_max = 500});
  const size_t bytes = admission.bytes();
  for (int round = 0; round < 2; ++round) {
    for (uint64_t handle = 1; handle <= 300; ++handle) {
      EXPECT_EQ(admission.Admits(Group(handle)), round == 1);
    }
  }
  EXPECT_EQ(admission.bytes(), bytes);
}

TEST(MakeAdmission, KnowsItsNames) {
  EXPECT_TRUE((*MakeAdmission("all", {}))->Admits(Group(1)));
  EXPECT_FALSE((*MakeAdmission("second", {100, 10}))->Admits(Group(1)));
  EXPECT_FALSE(MakeAdmission("third", {}).ok());
}

}  // namespace
}  // namespace kvcast
