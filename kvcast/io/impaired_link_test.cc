#include "kvcast/io/impaired_link.h"

#include <gtest/gtest.h>

#include <set>
#include <vector>

namespace kvcast {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr Instant kStart = Instant(seconds(1000));
constexpr size_t kBytes = 1000;

// What becomes of `count` datagrams, one a millisecond.
std::vector<ImpairedLink::Fate> Fates(ImpairedLink& link, size_t count) {
  std::vector<ImpairedLink::Fate> fates;
  for (size_t i = 0; i < count; ++i) {
    fates.push_back(link.Send(kBytes, kStart + milliseconds(i)));
  }
  return fates;
}

std::set<size_t> Lost(const std::vector<ImpairedLink::Fate>& fates) {
  std::set<size_t> lost;
  for (size_t i = 0; i < fates.size(); ++i) {
    if (!fates[i].arrival) {
      lost.insert(i);
    }
  }
  return lost;
}

TEST(ImpairedLink, WithoutImpairmentsEverythingArrivesAtOnce) {
  ImpairedLink link({});
  const auto fates = Fates(link, 100);
  for (size_t i = 0; i < fates.size(); ++i) {
    EXPECT_EQ(fates[i].arrival, kStart + milliseconds(i));
    EXPECT_FALSE(fates[i].second_arrival);
  }
  EXPECT_EQ(link.counts().datagrams, 100U);
  EXPECT_EQ(link.counts().bytes, 100 * kBytes);
}

TEST(ImpairedLink, DelayIsAddedToEveryDatagram) {
  ImpairedLink link({.delay = milliseconds(25)});
  EXPECT_EQ(link.Send(kBytes, kStart).arrival, kStart + milliseconds(25));
  EXPECT_EQ(link.Send(kBytes, kStart + seconds(3)).arrival, kStart + milliseconds(3025));
}

TEST(ImpairedLink, TheSameSeedLosesTheSameDatagrams) {
  ImpairedLink one({.seed = 7, .loss = 0.1});
  ImpairedLink two({.seed = 7, .loss = 0.1});
  ImpairedLink other({.seed = 8, .loss = 0.1});
  const auto lost = Lost(Fates(one, 10'000));
  EXPECT_EQ(lost, Lost(Fates(two, 10'000)));
  EXPECT_NE(lost, Lost(Fates(other, 10'000)));
  EXPECT_EQ(lost.size(), one.counts().lost);
  // Ten standard deviations: the seed is fixed, so this either always holds or never.
  EXPECT_NEAR(static_cast<double>(lost.size()), 1000, 300);
}

// So that what is changed is what is tested.
TEST(ImpairedLink, MoreLossLosesTheSameAndOthers) {
  ImpairedLink little({.loss = 0.01, .duplication = 0.2});
  ImpairedLink much({.loss = 0.1, .duplication = 0.2, .reordering = 0.5});
  const auto little_lost = Lost(Fates(little, 10'000));
  const auto much_lost = Lost(Fates(much, 10'000));
  EXPECT_GT(much_lost.size(), little_lost.size());
  for (const size_t i : little_lost) {
    EXPECT_TRUE(much_lost.contains(i)) << i;
  }
}

TEST(ImpairedLink, OneBitOfADamagedDatagramIsAnotherOne) {
  ImpairedLink link({.corruption = 0.1});
  std::set<size_t> bits;
  for (const ImpairedLink::Fate& fate : Fates(link, 10'000)) {
    EXPECT_TRUE(fate.arrival);
    if (fate.turned_bit) {
      EXPECT_LT(*fate.turned_bit, kBytes * 8);
      bits.insert(*fate.turned_bit);
    }
  }
  EXPECT_NEAR(static_cast<double>(link.counts().corrupted), 1000, 300);
  EXPECT_GT(bits.size(), 500U);  // Any of 8,000.
  EXPECT_FALSE(ImpairedLink({.corruption = 1}).Send(0, kStart).turned_bit);
}

TEST(ImpairedLink, DuplicatesArriveTwice) {
  ImpairedLink link({.delay = milliseconds(2), .duplication = 1});
  const ImpairedLink::Fate fate = link.Send(kBytes, kStart);
  EXPECT_EQ(fate.arrival, kStart + milliseconds(2));
  EXPECT_EQ(fate.second_arrival, kStart + milliseconds(2));
  EXPECT_EQ(link.counts().duplicated, 1U);
}

TEST(ImpairedLink, SomeAreOvertaken) {
  ImpairedLink link({.reordering = 0.1, .reorder_delay = milliseconds(3)});
  const auto fates = Fates(link, 1000);
  size_t overtaken = 0;
  for (size_t i = 0; i + 1 < fates.size(); ++i) {
    overtaken += *fates[i].arrival > *fates[i + 1].arrival ? 1U : 0U;
  }
  EXPECT_GT(overtaken, 50U);
  EXPECT_GE(link.counts().held_back, overtaken);
}

// 1,000 bytes at 8 Mbit/s are a millisecond.
TEST(ImpairedLink, TheRateSpacesDatagrams) {
  ImpairedLink link({.delay = milliseconds(10), .bits_per_second = 8'000'000});
  for (size_t i = 1; i <= 10; ++i) {
    EXPECT_EQ(link.Send(kBytes, kStart).arrival, kStart + milliseconds(10 + i));
  }
  // An idle link owes nothing for the time that it was idle.
  EXPECT_EQ(link.Send(kBytes, kStart + seconds(1)).arrival, kStart + milliseconds(1011));
}

TEST(ImpairedLink, WhatDoesNotFitIntoTheQueueIsLost) {
  ImpairedLink link({.bits_per_second = 8'000'000, .queue_bytes = 5 * kBytes});
  for (size_t i = 0; i < 5; ++i) {
    EXPECT_TRUE(link.Send(kBytes, kStart).arrival) << i;
  }
  EXPECT_FALSE(link.Send(kBytes, kStart).arrival);
  EXPECT_EQ(link.counts().overflowed, 1U);
  EXPECT_TRUE(link.Send(kBytes, kStart + milliseconds(1)).arrival);
}

// Loopback's datagrams may be larger than a queue that was meant for Ethernet's.
TEST(ImpairedLink, ADatagramLargerThanTheQueuePassesAnIdleLink) {
  ImpairedLink link({.bits_per_second = 8'000'000, .queue_bytes = 1500});
  EXPECT_TRUE(link.Send(65'000, kStart).arrival);
  EXPECT_FALSE(link.Send(65'000, kStart).arrival);
  EXPECT_TRUE(link.Send(65'000, kStart + seconds(1)).arrival);
}

TEST(ImpairedLink, ABlackoutLosesEverythingForItsLength) {
  ImpairedLink link({.blackout_start = milliseconds(10), .blackout_length = milliseconds(5)});
  const auto lost = Lost(Fates(link, 1000));
  EXPECT_EQ(lost, (std::set<size_t>{10, 11, 12, 13, 14}));
  EXPECT_EQ(link.counts().blacked_out, 5U);
}

TEST(ImpairedLink, ABlackoutComesAgainWithItsPeriod) {
  ImpairedLink link({.blackout_start = milliseconds(1),
                     .blackout_length = milliseconds(1),
                     .blackout_period = milliseconds(10)});
  EXPECT_EQ(Lost(Fates(link, 30)), (std::set<size_t>{1, 11, 21}));
}

TEST(ImpairedLink, DatagramsLargerThanThePathCarriesAreLost) {
  ImpairedLink link({.datagram_bytes_max = 1472});
  EXPECT_TRUE(link.Send(1472, kStart).arrival);
  EXPECT_FALSE(link.Send(1473, kStart).arrival);
  EXPECT_EQ(link.counts().too_large, 1U);
}

}  // namespace
}  // namespace kvcast
