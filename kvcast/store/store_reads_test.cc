#include "kvcast/store/store_fixture_test.h"

namespace kvcast {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

TEST_F(StoreTest, ReadsOnceForAllWhoAskAndKeepsIt) {
  Fill();
  std::vector<StoreTicket> tickets;
  for (int i = 0; i < 5; ++i) {
    tickets.push_back(Ask({0, 2}));
  }
  EXPECT_EQ(disks_[0]->reads(), 1u);
  Take();
  EXPECT_TRUE(read_.empty());
  Finish();
  for (const StoreTicket ticket : tickets) {
    ASSERT_TRUE(read_.at(ticket).has_value());
    EXPECT_EQ(read_.at(ticket)->object.payload.ToString(), StorePayload({0, 2}));
  }
  EXPECT_EQ(disks_[0]->get_count, 1u);
  EXPECT_EQ(InMemory({0, 2}), StorePayload({0, 2}));
}

// Peers choose names, and how many of them wait at a time.
TEST(ReadDesk, WhatIsRememberedOfThoseWhoWaitIsCountedAndBounded) {
  const TrackName track = *TrackName::Of(*TrackNamespace::Of({"a", "b"}), std::string(3000, 'n'));
  TierSet tiers;
  auto owned = std::make_unique<FakeTier>();
  FakeTier& tier = *owned;
  tiers.Add(TierKind::kDisk, std::move(owned), nullptr);
  const Instant now{std::chrono::hours(1)};
  for (uint64_t object = 0; object < 4; ++object) {
    ASSERT_TRUE(tier.Put(track, StoreObject({0, object}), 0, now).ok());
  }
  tier.FinishWrites();
  ReadDesk desk({.bytes_max = 200'000}, tiers);
  StoreTicket taken = 0;
  while (taken < 10'000 && desk.Ask(taken + 1, track, {0, taken % 4}, now)) {
    ++taken;
  }
  EXPECT_GT(taken, 4u);
  EXPECT_LT(taken * 3000, 200'000u) << "each keeps its name";
  EXPECT_LT(desk.bytes(), 200'000u + 20'000u);
  for (StoreTicket ticket = 1; ticket <= taken / 2; ++ticket) {
    desk.Cancel(ticket);
  }
  EXPECT_TRUE(desk.Ask(taken + 1, track, {0, 0}, now)) << "there is room again";
  while (tier.reads() > 0) {
    tier.FinishRead();
  }
  while (auto event = tier.Next()) {
    if (auto* read = std::get_if<TierRead>(&*event)) {
      (void)desk.OnRead(0, std::move(*read), now);
    }
  }
  EXPECT_EQ(desk.waiting(), 0u);
  EXPECT_EQ(desk.bytes(), 0u);
}

// A tier that stalls costs those who want what it alone has, for as long as they have patience.
TEST_F(StoreTest, AnswersEveryoneInTimeWhateverATierDoes) {
  Fill();
  disks_[0]->reads_max = 1;
  const StoreTicket stalled = Ask({0, 0});
  const StoreTicket behind = Ask({0, 1});
  now_ += seconds(9);
  const StoreTicket later = Ask({0, 0});
  Take();
  EXPECT_TRUE(read_.empty());
  EXPECT_EQ(store_->deadline(), kBegin + seconds(10));
  now_ += seconds(1);
  Take();
  EXPECT_FALSE(read_.at(stalled).has_value());
  EXPECT_FALSE(read_.at(behind).has_value());
  EXPECT_FALSE(read_.contains(later));
  disks_[0]->FinishRead();
  Take();
  EXPECT_TRUE(read_.at(later).has_value());
  EXPECT_EQ(store_->desk().waiting(), 0u);
  EXPECT_EQ(disks_[0]->reads(), 0u);  // Nobody wants the one behind any more.
}

TEST_F(StoreTest, WhoeverHasLessTimeIsAnsweredSooner) {
  Fill();
  const Store::Got soon = store_->Get(kStoreTrack, {0, 0}, now_, seconds(2));
  ASSERT_TRUE(std::holds_alternative<StoreTicket>(soon));
  const StoreTicket patient = Ask({0, 0});
  EXPECT_TRUE(
      std::holds_alternative<std::monostate>(store_->Get(kStoreTrack, {0, 1}, now_, seconds(0))));
  EXPECT_EQ(store_->deadline(), now_ + seconds(2));
  now_ += seconds(2);
  Take();
  ASSERT_TRUE(read_.contains(std::get<StoreTicket>(soon)));
  EXPECT_FALSE(read_.at(std::get<StoreTicket>(soon)).has_value());
  EXPECT_FALSE(read_.contains(patient));
  Finish();
  EXPECT_TRUE(read_.at(patient).has_value());
}

TEST_F(StoreTest, AsksATierAgainThatHadTooMuchToRead) {
  Fill();
  disks_[0]->reads_max = 2;
  std::vector<StoreTicket> tickets;
  for (uint64_t object = 0; object < 4; ++object) {
    tickets.push_back(Ask({0, object}));
  }
  EXPECT_EQ(disks_[0]->reads(), 2u);
  Finish();
  for (const StoreTicket ticket : tickets) {
    EXPECT_TRUE(read_.at(ticket).has_value());
  }
}

TEST_F(StoreTest, ReadsFromTheNextTierWhenOneFails) {
  Make(2);
  for (FakeTier* disk : disks_) {
    ASSERT_TRUE(disk->Put(kStoreTrack, StoreObject({0, 0}), 5, now_).ok());
    disk->FinishWrites();
  }
  Take();
  const StoreTicket ticket = Ask({0, 0});
  disks_[0]->FinishRead(/*fails=*/true);
  Take();
  EXPECT_FALSE(read_.contains(ticket));
  disks_[1]->FinishRead();
  Take();
  ASSERT_TRUE(read_.at(ticket).has_value());
  EXPECT_EQ(read_.at(ticket)->received_us, 5u);
}

// Two tiers may have come to hold two contents, since others write into a bucket: then a name
// stands for what the first of them has, whether or not that can be read just now.
TEST_F(StoreTest, NeverReadsFromATierWhatAnEarlierOneContradicts) {
  Make(2);
  Object other = StoreObject({0, 0});
  other.payload = Bytes::Of("other bytes");
  ASSERT_TRUE(disks_[0]->Put(kStoreTrack, StoreObject({0, 0}), 0, now_).ok());
  ASSERT_TRUE(disks_[1]->Put(kStoreTrack, other, 0, now_).ok());
  Finish();
  const StoreTicket ticket = Ask({0, 0});
  disks_[0]->FinishRead(/*fails=*/true);
  Take();
  Finish();
  EXPECT_FALSE(read_.at(ticket).has_value());
}

// After a restart, only what is written on disk tells how old an object is.
TEST_F(StoreTest, DoesNotGiveWhatMayBeKeptNoLonger) {
  Make(1);
  TrackFacts facts;
  facts.properties = PropertiesBuilder().Number(4, 1000).Build();
  ASSERT_TRUE(disks_[0]->Describe(kStoreTrack, facts, now_).ok());
  const uint64_t wall = store_->WallAt(now_);
  ASSERT_TRUE(disks_[0]->Put(kStoreTrack, StoreObject({0, 0}), wall - 999'999, now_).ok());
  ASSERT_TRUE(disks_[0]->Put(kStoreTrack, StoreObject({1, 0}), wall - 1'000'000, now_).ok());
  disks_[0]->FinishWrites();
  Take();
  const StoreTicket fresh = Ask({0, 0});
  const StoreTicket old = Ask({1, 0});
  Finish();
  EXPECT_TRUE(read_.at(fresh).has_value());
  EXPECT_FALSE(read_.at(old).has_value());
  EXPECT_FALSE(store_->FindGroup(kStoreTrack, 1).has_value());
  EXPECT_EQ(store_->counts().expired, 1u);
}

// A clock that was set back between two runs makes nothing younger.
TEST_F(StoreTest, WhatCameInTheFutureMayBeKeptNoLonger) {
  Make(1);
  TrackFacts facts;
  facts.properties = PropertiesBuilder().Number(4, 60'000).Build();
  ASSERT_TRUE(disks_[0]->Describe(kStoreTrack, facts, now_).ok());
  const uint64_t wall = store_->WallAt(now_);
  ASSERT_TRUE(disks_[0]->Put(kStoreTrack, StoreObject({0, 0}), wall + 1'000'000, now_).ok());
  ASSERT_TRUE(disks_[0]->Put(kStoreTrack, StoreObject({1, 0}), wall + 3'600'000'000, now_).ok());
  disks_[0]->FinishWrites();
  Take();
  const StoreTicket apart = Ask({0, 0});
  const StoreTicket future = Ask({1, 0});
  Finish();
  EXPECT_TRUE(read_.at(apart).has_value()) << "clocks differ by a little";
  EXPECT_FALSE(read_.at(future).has_value());
  EXPECT_FALSE(store_->FindGroup(kStoreTrack, 1).has_value());
}

// From when it began to come, if that is told.
TEST_F(StoreTest, WritesHowOldAnObjectIs) {
  Make(1);
  const Instant since = now_ - milliseconds(700);
  ASSERT_TRUE(store_->Put(kStoreTrack, StoreObject({0, 0}), Durability::kDisk, now_, since).ok());
  ASSERT_TRUE(store_->Put(kStoreTrack, StoreObject({0, 1}), Durability::kDisk, now_).ok());
  Finish();
  EXPECT_EQ(disks_[0]->Find(kStoreTrack, {0, 0})->received_us, store_->WallAt(since));
  EXPECT_EQ(disks_[0]->Find(kStoreTrack, {0, 1})->received_us, store_->WallAt(now_));
}

TEST_F(StoreTest, WarmsARangeNoFasterThanItMay) {
  warming_.bytes_per_second = 2 * kStorePayloadBytes;
  warming_.burst_bytes = kStorePayloadBytes;
  warming_.reads_max = 1;
  Make(1);
  for (uint64_t object = 0; object < 4; ++object) {
    ASSERT_TRUE(disks_[0]->Put(kStoreTrack, StoreObject({0, object}), 5, now_).ok());
  }
  disks_[0]->FinishWrites();
  Take();
  EXPECT_TRUE(store_->Warm(kStoreTrack, LocationRange::Groups(0, 9), now_));
  Finish();
  EXPECT_EQ(disks_[0]->get_count, 1u);
  ASSERT_TRUE(store_->deadline().has_value());
  for (int i = 0; i < 20; ++i) {
    now_ += milliseconds(100);
    Finish();
  }
  EXPECT_EQ(disks_[0]->get_count, 4u);
  for (uint64_t object = 0; object < 4; ++object) {
    EXPECT_TRUE(InMemory({0, object}).has_value());
  }
  EXPECT_FALSE(store_->deadline().has_value());
}

TEST_F(StoreTest, WarmsNothingWhereItMayReadNothingAhead) {
  warming_.bytes_per_second = 0;
  Make(1);
  ASSERT_TRUE(disks_[0]->Put(kStoreTrack, StoreObject({0, 0}), 5, now_).ok());
  disks_[0]->FinishWrites();
  Take();
  EXPECT_FALSE(store_->Warm(kStoreTrack, LocationRange::Groups(0, 9), now_));
  now_ += std::chrono::hours(1);
  Finish();
  EXPECT_EQ(disks_[0]->get_count, 0u);
  EXPECT_FALSE(store_->deadline().has_value());
}

// Locations of one group, of which some are in memory and some below, in order and once each.
TEST_F(StoreTest, LocatesWhatIsAnywhere) {
  Make(1);
  for (const uint64_t object : {0u, 2u, 3u, 6u}) {
    ASSERT_TRUE(disks_[0]->Put(kStoreTrack, StoreObject({0, object}), 5, now_).ok());
  }
  disks_[0]->FinishWrites();
  Take();
  for (const uint64_t object : {1u, 4u}) {
    ASSERT_TRUE(store_->Put(kStoreTrack, StoreObject({0, object}), Durability::kMemory, now_).ok());
  }
  std::string found;
  for (const Store::Located& at : store_->Locate(kStoreTrack, {0, 0}, 5, 16)) {
    found += std::to_string(at.location.object) + (at.object ? "! " : " ");
  }
  EXPECT_EQ(found, "0 1! 2 3 4! ");
  EXPECT_EQ(store_->Locate(kStoreTrack, {0, 1}, 9, 2).size(), 2u);
}

}  // namespace
}  // namespace kvcast
