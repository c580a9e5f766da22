#include "kvcast/io/human_units.h"

#include <gtest/gtest.h>

namespace kvcast {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;

TEST(HumanBytes, ShowsThreeDigits) {
  EXPECT_EQ(HumanBytes(0), "0 bytes");
  EXPECT_EQ(HumanBytes(512), "512 bytes");
  EXPECT_EQ(HumanBytes(1536), "1.5 KiB");
  EXPECT_EQ(HumanBytes(8 * 1024 * 1024), "8 MiB");
  EXPECT_EQ(HumanBytes(146028888064), "136 GiB");
  EXPECT_EQ(HumanBytes(1023), "1023 bytes");
  EXPECT_EQ(HumanBytes(~uint64_t{0}), "16384 PiB");
}

// Whoever is told so much must not be refused for writing it.
TEST(RoundedUp, IsNeverLess) {
  EXPECT_EQ(RoundedUp(0), "0MiB");
  EXPECT_EQ(RoundedUp(uint64_t{320} << 20), "320MiB");
  EXPECT_EQ(RoundedUp((uint64_t{320} << 20) + 1), "321MiB");
  EXPECT_EQ(*ParseBytes(RoundedUp(5'000'000'000)), uint64_t{4769} << 20);
}

TEST(HumanRate, CountsInThousands) {
  EXPECT_EQ(HumanRate(1'020'000'000), "1.02 GB/s");
  EXPECT_EQ(HumanRate(950e6), "950 MB/s");
  EXPECT_EQ(HumanRate(0), "0 B/s");
  EXPECT_EQ(HumanRate(99.96e6), "100 MB/s");
}

TEST(HumanDuration, ShowsWhatMatters) {
  EXPECT_EQ(HumanDuration(microseconds(85)), "85 us");
  EXPECT_EQ(HumanDuration(microseconds(1234)), "1.23 ms");
  EXPECT_EQ(HumanDuration(milliseconds(1600)), "2 s");
  EXPECT_EQ(HumanDuration(seconds(125)), "2 min 5 s");
  EXPECT_EQ(HumanDuration(seconds(7260)), "2 h 1 min");
}

TEST(ParseBytes, TakesWhatPeopleWrite) {
  EXPECT_EQ(*ParseBytes("4GiB"), uint64_t{4} << 30);
  EXPECT_EQ(*ParseBytes("512 MiB"), uint64_t{512} << 20);
  EXPECT_EQ(*ParseBytes("16KiB"), 16384u);
  EXPECT_EQ(*ParseBytes("100000"), 100000u);
  EXPECT_EQ(*ParseBytes("16777215TiB"), uint64_t{16777215} << 40);
  for (const char* wrong : {"", "GiB", "4GB", "4gib", "-1", "1.5GiB", "4GiBs", "16777216TiB",
                            "99999999999999999999", " 4"}) {
    EXPECT_EQ(ParseBytes(wrong).error().code(), ErrorCode::kInvalid) << wrong;
  }
}

TEST(HumanUnits, TimesAreReadWithTheirUnit) {
  EXPECT_EQ(*ParseDuration("2s"), std::chrono::seconds(2));
  EXPECT_EQ(*ParseDuration("1500 ms"), std::chrono::milliseconds(1500));
  EXPECT_EQ(*ParseDuration("5min"), std::chrono::minutes(5));
  for (const char* wrong : {"", "2", "s", "-1s", "2 seconds", "1.5s", "9999999999999h"}) {
    EXPECT_FALSE(ParseDuration(wrong).ok()) << wrong;
  }
}

TEST(HumanUnits, WhatIsWrittenExactlyIsReadAsItWas) {
  for (const uint64_t bytes : {uint64_t{0}, uint64_t{1}, uint64_t{1024}, uint64_t{65 << 20},
                               (uint64_t{1} << 40) + 1, uint64_t{3} << 50}) {
    EXPECT_EQ(*ParseBytes(ExactBytes(bytes)), bytes) << ExactBytes(bytes);
  }
  EXPECT_EQ(ExactBytes(uint64_t{64} << 20), "64MiB");
  for (const int64_t count : {0, 1, 1000, 1'500'000, 2'000'000'000}) {
    EXPECT_EQ(*ParseDuration(ExactDuration(Duration(count))), Duration(count));
  }
  EXPECT_EQ(ExactDuration(std::chrono::milliseconds(1500)), "1500ms");
}

}  // namespace
}  // namespace kvcast
