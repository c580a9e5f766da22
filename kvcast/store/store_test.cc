#include "kvcast/store/store_fixture_test.h"

namespace kvcast {
namespace {

using std::chrono::seconds;

TEST_F(StoreTest, GivesWhatIsInMemoryAtOnce) {
  Make(1);
  ASSERT_EQ(PutGroup(0, 2)->size(), 0u);
  EXPECT_EQ(InMemory({0, 1}), StorePayload({0, 1}));
  EXPECT_EQ(disks_[0]->writes(), 0u);  // Nobody asked for it.
  EXPECT_TRUE(std::holds_alternative<std::monostate>(store_->Get(kStoreTrack, {0, 2}, now_)));
  EXPECT_EQ(store_->PresenceOf(kStoreTrack, {0, 2}), Presence::kGone);
  EXPECT_EQ(store_->PresenceOf(kStoreTrack, {1, 0}), Presence::kUnknown);
}

TEST_F(StoreTest, AcknowledgesWhatIsDurableAndNotBefore) {
  Make(1);
  const std::vector<StoreTicket> tickets = *PutGroup(0, 2, Durability::kDisk);
  ASSERT_EQ(tickets.size(), 3u);
  // What waits costs more than its payload, and the end of a group costs something.
  EXPECT_GT(store_->pledged_bytes(Durability::kDisk), 2 * StorePayload({0, 0}).size() + 1500);
  Take();
  EXPECT_TRUE(written_.empty());
  disks_[0]->FinishWrite();
  disks_[0]->FinishWrite(/*fails=*/true);
  Take();
  ASSERT_EQ(written_.size(), 2u);
  EXPECT_EQ(written_.at(tickets[0]).level, Durability::kDisk);
  EXPECT_FALSE(written_.at(tickets[0]).error.has_value());
  EXPECT_TRUE(written_.at(tickets[1]).error.has_value());
  EXPECT_EQ(store_->counts().write_failures, 1u);
  disks_[0]->FinishWrite();
  Take();
  EXPECT_EQ(store_->pledged_bytes(Durability::kDisk), 0u);
}

TEST_F(StoreTest, RefusesALevelAtOnceThatItDoesNotHave) {
  Make(0);
  EXPECT_EQ(store_->Put(kStoreTrack, StoreObject({0, 0}), Durability::kDisk, now_).error().code(),
            ErrorCode::kUnsupported);
  Make(1);
  EXPECT_EQ(store_->Describe(kStoreTrack, {}, {}, Durability::kBucket, now_).error().code(),
            ErrorCode::kUnsupported);
  disks_[0]->refuses = true;
  const auto refused = store_->Put(kStoreTrack, StoreObject({0, 0}), Durability::kDisk, now_);
  EXPECT_EQ(refused.error().code(), ErrorCode::kMachine);
  EXPECT_NE(refused.error().message().find("full"), std::string::npos);
  EXPECT_FALSE(InMemory({0, 0}).has_value());
}

// Or a track would be said to have an object that was never there.
TEST_F(StoreTest, ARefusedPutLeavesNoTrace) {
  Make(1);
  disks_[0]->refuses = true;
  ASSERT_FALSE(store_->Put(kStoreTrack, StoreObject({3, 0}), Durability::kDisk, now_).ok());
  EXPECT_FALSE(store_->Find(kStoreTrack).has_value());
  const size_t empty = store_->ram().bytes();
  ASSERT_TRUE(PutGroup(0, 2));
  ASSERT_FALSE(store_->Put(kStoreTrack, StoreObject({3, 0}), Durability::kDisk, now_).ok());
  EXPECT_EQ(store_->Find(kStoreTrack)->largest, (Location{0, 1}));
  EXPECT_FALSE(store_->GroupFrom(kStoreTrack, 1));
  store_->Remove(kStoreTrack, 0, now_);
  EXPECT_TRUE(store_->Forget(kStoreTrack, now_));
  EXPECT_EQ(store_->ram().bytes(), empty);
}

TEST_F(StoreTest, KnowsWhatItsPublisherLeftOut) {
  Make(1);
  ASSERT_TRUE(PutGroup(0, 2, Durability::kDisk));
  Finish();
  const LocationRange objects{{5, 2}, {5, 4}};
  for (const LocationRange& gap : {LocationRange::Groups(1, 4), objects}) {
    ASSERT_TRUE(store_->CheckGap(kStoreTrack, gap).ok());
    (void)store_->AddGap(kStoreTrack, gap, Durability::kMemory, now_);
  }
  EXPECT_EQ(store_->PresenceOf(kStoreTrack, {3, 7}), Presence::kGone);
  EXPECT_EQ(store_->PresenceOf(kStoreTrack, {5, 5}), Presence::kUnknown);
  EXPECT_TRUE(store_->IsGone(kStoreTrack, {{0, 2}, {4, 100}}));
  EXPECT_FALSE(store_->IsGone(kStoreTrack, {{0, 2}, {5, 3}}));
  EXPECT_TRUE(store_->IsGone(kStoreTrack, objects));
  EXPECT_EQ(store_->Put(kStoreTrack, StoreObject({2, 0}), Durability::kMemory, now_).error().code(),
            ErrorCode::kMismatch);
  EXPECT_EQ(store_->CheckGap(kStoreTrack, {{0, 1}, {0, 1}}).error().code(), ErrorCode::kMismatch);
  // The tier that has the track knows it too, for later.
  const auto after = disks_[0]->AfterDeath();
  EXPECT_EQ(after->PresenceOf(kStoreTrack, {3, 7}), Presence::kGone);
  EXPECT_EQ(after->FindTrack(kStoreTrack)->gaps.size(), 2u);
}

TEST_F(StoreTest, AGapOverWhatOnlyADiskHasIsRefused) {
  Fill();
  ASSERT_FALSE(InMemory({0, 0}));
  EXPECT_EQ(store_->CheckGap(kStoreTrack, LocationRange::Groups(0, 0)).error().code(),
            ErrorCode::kMismatch);
}

TEST_F(StoreTest, WritesToAnotherDiskWhenOneRefuses) {
  Make(2);
  disks_[0]->refuses = true;
  EXPECT_EQ(PutGroup(0, 2, Durability::kDisk)->size(), 3u);
  disks_[1]->FinishWrites();
  Take();
  EXPECT_EQ(written_.size(), 3u);
  EXPECT_TRUE(store_->tiers().HasWhole(kStoreTrack, 0, TierKind::kDisk));
  EXPECT_FALSE(store_->tiers().HasWhole(kStoreTrack, 0, TierKind::kBucket));
}

// Half of a group on each of two disks is a group on neither.
TEST_F(StoreTest, AGroupStaysOnTheDiskThatHasSomeOfItOrIsAboutTo) {
  for (const bool settled : {false, true}) {
    SCOPED_TRACE(settled);
    Make(2);
    const auto put = [&](Location at) {
      return store_->Put(kStoreTrack, StoreObject(at), Durability::kDisk, now_).ok();
    };
    ASSERT_TRUE(put({0, 0}));
    FakeTier& home = *disks_[disks_[0]->writes() > 0 ? 0 : 1];
    FakeTier& other = *disks_[disks_[0]->writes() > 0 ? 1 : 0];
    if (settled) {
      Finish();
    }
    home.refuses = true;
    EXPECT_FALSE(put({0, 1}));
    EXPECT_TRUE(put({1, 0})) << "nobody has any of that";
    home.refuses = false;
    EXPECT_TRUE(put({0, 1}));
    EXPECT_TRUE(put({1, 1}));
    for (const uint64_t group : {0u, 1u}) {
      ASSERT_TRUE(store_->EndGroup(kStoreTrack, group, 2, Durability::kDisk, now_).ok());
    }
    Finish();
    EXPECT_TRUE(home.FindGroup(kStoreTrack, 0)->whole());
    EXPECT_FALSE(other.FindGroup(kStoreTrack, 0).has_value());
    EXPECT_TRUE(other.FindGroup(kStoreTrack, 1)->whole());
    EXPECT_FALSE(home.FindGroup(kStoreTrack, 1).has_value());
  }
}

TEST_F(StoreTest, AGroupOfWhichTwoDisksHaveHalfEachGoesDownAsAWhole) {
  Make(2, 24'000);
  for (const uint64_t object : {0u, 1u}) {
    ASSERT_TRUE(disks_[object]->Put(kStoreTrack, StoreObject({0, object}), 0, now_).ok());
  }
  Finish();
  disks_[0]->is_away = disks_[1]->is_away = true;  // So that memory has it, too.
  ASSERT_TRUE(PutGroup(0, 2).has_value());
  const TrackName other = *TrackName::Of(kStoreTrack.space(), "other");
  for (uint64_t object = 0; object < 30; ++object) {
    ASSERT_TRUE(store_->Put(other, StoreObject({object, 0}), Durability::kMemory, now_).ok());
  }
  Finish();
  ASSERT_FALSE(InMemory({0, 0}).has_value());
  EXPECT_TRUE(store_->FindGroup(kStoreTrack, 0)->whole());
}

TEST_F(StoreTest, WhatMemoryEvictsIsSpreadOverAllDisks) {
  Make(2, 24'000);
  for (uint64_t number = 0; number < 40; ++number) {
    const TrackName track = *TrackName::Of(kStoreTrack.space(), "track " + std::to_string(number));
    for (uint64_t object = 0; object < 4; ++object) {
      ASSERT_TRUE(store_->Put(track, StoreObject({0, object}), Durability::kMemory, now_).ok());
    }
    ASSERT_TRUE(store_->EndGroup(track, 0, 4, Durability::kMemory, now_).ok());
    Finish();
  }
  for (const FakeTier* disk : disks_) {
    EXPECT_GT(disk->Groups(std::nullopt, 100).size(), 5u);
  }
}

// What memory evicts goes down, and is never not there on its way.
TEST_F(StoreTest, GivesWhatIsOnItsWayDown) {
  Make(1, 24'000);
  for (uint64_t group = 0; group < 8; ++group) {
    ASSERT_TRUE(PutGroup(group, 4).has_value());
  }
  EXPECT_GT(disks_[0]->writes(), 0u);
  for (uint64_t group = 0; group < 8; ++group) {
    EXPECT_EQ(InMemory({group, 3}), StorePayload({group, 3})) << group;
    EXPECT_TRUE(store_->FindGroup(kStoreTrack, group)->whole());
  }
  EXPECT_GT(store_->demoting_bytes(), 0u);
  Finish();
  EXPECT_EQ(store_->demoting_bytes(), 0u);
  EXPECT_TRUE(moved_.contains(0));
  EXPECT_FALSE(InMemory({0, 3}).has_value());
  EXPECT_TRUE(store_->FindGroup(kStoreTrack, 0)->whole());
}

// A bucket takes what RAM evicts where no disk does, and what a disk evicts.
TEST_F(StoreTest, LeavesToABucketWhatADiskDoesNotTakeOrKeep) {
  Make(1, 24'000);
  auto owned = std::make_unique<FakeTier>();
  FakeTier* const bucket = owned.get();
  store_->AddTier(TierKind::kBucket, std::move(owned));
  disks_[0]->refuses = true;
  for (uint64_t group = 0; group < 8; ++group) {
    ASSERT_TRUE(PutGroup(group, 4).has_value());
  }
  bucket->FinishWrites();
  Take();
  EXPECT_TRUE(bucket->FindGroup(kStoreTrack, 0)->whole());
  EXPECT_FALSE(disks_[0]->FindGroup(kStoreTrack, 0).has_value());

  disks_[0]->refuses = false;
  ASSERT_TRUE(PutGroup(20, 4, Durability::kDisk).has_value());
  disks_[0]->FinishWrites();
  Take();
  disks_[0]->Evict(kStoreTrack, 20);
  Take();
  EXPECT_TRUE(store_->FindGroup(kStoreTrack, 20)->whole());
  EXPECT_EQ(bucket->writes(),
            6u);  // What is known of the track, four objects and the end.
  bucket->FinishWrites();
  Take();
  EXPECT_TRUE(bucket->FindGroup(kStoreTrack, 20)->whole());
  EXPECT_EQ(store_->demoting_bytes(), 0u);
}

TEST_F(StoreTest, LosesWhatNoTierTakes) {
  Make(1, 24'000);
  disks_[0]->refuses = true;
  for (uint64_t group = 0; group < 8; ++group) {
    ASSERT_TRUE(PutGroup(group, 4).has_value());
  }
  Take();
  EXPECT_FALSE(store_->FindGroup(kStoreTrack, 0).has_value());
  EXPECT_TRUE(moved_.contains(0));
  EXPECT_GT(store_->counts().not_demoted, 0u);
}

// Bytes under a name never change, wherever they are.
TEST_F(StoreTest, RefusesWhatContradictsATierBelow) {
  Fill();
  Object other = StoreObject({0, 0});
  other.payload = Bytes::Of("other bytes");
  EXPECT_EQ(store_->Put(kStoreTrack, other, Durability::kMemory, now_).error().code(),
            ErrorCode::kMismatch);
  EXPECT_EQ(store_->Put(kStoreTrack, StoreObject({0, 4}), Durability::kMemory, now_).error().code(),
            ErrorCode::kMismatch);  // Beyond the group's end.
  EXPECT_EQ(store_->EndGroup(kStoreTrack, 0, 5, Durability::kMemory, now_).error().code(),
            ErrorCode::kMismatch);
  EXPECT_EQ(store_->CheckGroupEnd(kStoreTrack, 0, 5).error().code(), ErrorCode::kMismatch);
  EXPECT_TRUE(store_->CheckGroupEnd(kStoreTrack, 0, 4).ok());
  EXPECT_FALSE(store_->Put(kStoreTrack, StoreObject({0, 0}), Durability::kMemory, now_)->is_new);
  // One that takes nothing just now compares all the same.
  disks_[0]->refuses = true;
  EXPECT_EQ(store_->Put(kStoreTrack, other, Durability::kMemory, now_).error().code(),
            ErrorCode::kMismatch);
  EXPECT_FALSE(store_->Put(kStoreTrack, StoreObject({0, 0}), Durability::kMemory, now_)->is_new);
  EXPECT_FALSE(InMemory({0, 0}).has_value());
}

// What waits to be written is known as well, although memory may have lost it by then.
TEST_F(StoreTest, RefusesWhatContradictsAWriteUnderWay) {
  Make(1);
  ASSERT_TRUE(store_->Put(kStoreTrack, StoreObject({0, 0}), Durability::kDisk, now_).ok());
  store_->ram().Remove(kStoreTrack, Location{0, 0});
  Object other = StoreObject({0, 0});
  other.payload = Bytes::Of("other bytes");
  EXPECT_EQ(store_->Put(kStoreTrack, other, Durability::kMemory, now_).error().code(),
            ErrorCode::kMismatch);
  EXPECT_FALSE(InMemory({0, 0}).has_value());
}

TEST_F(StoreTest, RemovesFromEveryTier) {
  Fill();
  ASSERT_TRUE(store_->FindGroup(kStoreTrack, 0).has_value());
  for (uint64_t group = 0; group < 8; ++group) {
    store_->Remove(kStoreTrack, group, now_);
  }
  Finish();
  EXPECT_FALSE(store_->GroupFrom(kStoreTrack, 0).has_value());
  EXPECT_TRUE(store_->Find(kStoreTrack).has_value());  // What is known outlives it,
  EXPECT_TRUE(store_->Forget(kStoreTrack, now_));
  EXPECT_FALSE(store_->Find(kStoreTrack).has_value());  // until nobody wants it.
}

// A disk that is full when the last of a track leaves RAM does not make the node forget its end.
TEST_F(StoreTest, KeepsWhatIsKnownOfATrackUntilATierKnowsIt) {
  Make(1, 24'000);
  ASSERT_TRUE(PutGroup(0, 4, Durability::kDisk).has_value());
  Finish();
  disks_[0]->refuses = true;
  ASSERT_TRUE(PutGroup(1, 4).has_value());
  ASSERT_TRUE(store_->EndTrack(kStoreTrack, {2, 0}, now_).ok());
  const TrackName other = *TrackName::Of(kStoreTrack.space(), "other");
  for (uint64_t group = 0; group < 8; ++group) {
    for (uint64_t object = 0; object < 4; ++object) {
      ASSERT_TRUE(store_->Put(other, StoreObject({group, object}), Durability::kMemory, now_).ok());
    }
    ASSERT_TRUE(store_->EndGroup(other, group, 4, Durability::kMemory, now_).ok());
  }
  ASSERT_FALSE(store_->ram().GroupFrom(kStoreTrack, 0).has_value());
  EXPECT_EQ(store_->Find(kStoreTrack)->end, (Location{2, 0}));
  EXPECT_EQ(store_->PresenceOf(kStoreTrack, {2, 0}), Presence::kGone);
  disks_[0]->refuses = false;
  EXPECT_FALSE(store_->Forget(kStoreTrack, now_));  // It is on disk, and so is its end then.
  EXPECT_EQ(store_->ram().Find(kStoreTrack), nullptr);
  EXPECT_EQ(store_->Find(kStoreTrack)->end, (Location{2, 0}));
}

// A second publisher of a group that is on its way down leaves no shell of it in RAM.
// What a tier could not write is told again with the next group that goes there.
TEST_F(StoreTest, ATierIsToldAgainWhatItCouldNotWrite) {
  Fill();
  ASSERT_TRUE(store_->Describe(kStoreTrack, {}, Location{90, 0}, Durability::kMemory, now_).ok());
  ASSERT_TRUE(PutGroup(8, 4) && PutGroup(9, 4));
  Finish();
  const size_t told = disks_[0]->describe_count;
  ASSERT_TRUE(PutGroup(10, 4) && PutGroup(11, 4));
  Finish();
  ASSERT_EQ(disks_[0]->describe_count, told) << "there is nothing new";
  disks_[0]->owes = true;
  ASSERT_TRUE(PutGroup(12, 4) && PutGroup(13, 4));
  Finish();
  EXPECT_GT(disks_[0]->describe_count, told);
}

TEST_F(StoreTest, ATierIsToldAgainWhatItRefusedToHear) {
  Make(1);
  ASSERT_TRUE(PutGroup(0, 2, Durability::kDisk).has_value());
  Finish();
  disks_[0]->refuses = true;
  ASSERT_TRUE(store_->EndTrack(kStoreTrack, {7, 0}, now_).ok());
  (void)store_->AddGap(kStoreTrack, {{3, 0}, {3, 9}}, Durability::kMemory, now_);
  disks_[0]->refuses = false;
  EXPECT_FALSE(disks_[0]->FindTrack(kStoreTrack)->end.has_value());
  ASSERT_TRUE(PutGroup(1, 2, Durability::kDisk).has_value());
  EXPECT_EQ(disks_[0]->FindTrack(kStoreTrack)->end, (Location{7, 0}));
  EXPECT_EQ(disks_[0]->FindTrack(kStoreTrack)->gaps.size(), 1u);
}

// Of a group that is to be in memory alone, and is on disk in part.
TEST_F(StoreTest, ATierIsToldAgainOfTheEndOfAGroup) {
  Make(1);
  ASSERT_TRUE(store_->Put(kStoreTrack, StoreObject({0, 0}), Durability::kDisk, now_).ok());
  Finish();
  disks_[0]->refuses = true;
  ASSERT_TRUE(store_->EndGroup(kStoreTrack, 0, 1, Durability::kMemory, now_).ok());
  ASSERT_TRUE(store_->deadline().has_value());
  now_ = *store_->deadline();
  Take();
  EXPECT_FALSE(disks_[0]->FindGroup(kStoreTrack, 0)->whole());
  disks_[0]->refuses = false;
  now_ = *store_->deadline();
  Finish();
  EXPECT_TRUE(disks_[0]->FindGroup(kStoreTrack, 0)->whole());
  EXPECT_FALSE(store_->deadline().has_value()) << "all is told";
}

TEST_F(StoreTest, ATierIsToldWhatWasSaidBeforeItWasReady) {
  Make(1);
  ASSERT_TRUE(PutGroup(0, 2, Durability::kDisk).has_value());
  Finish();
  disks_[0]->is_ready = false;
  ASSERT_TRUE(store_->EndTrack(kStoreTrack, {7, 0}, now_).ok());
  (void)store_->AddGap(kStoreTrack, {{3, 0}, {3, 9}}, Durability::kMemory, now_);
  ASSERT_TRUE(store_->deadline().has_value());
  now_ = *store_->deadline();
  Take();
  disks_[0]->is_ready = true;
  now_ = *store_->deadline();
  Finish();
  EXPECT_EQ(disks_[0]->FindTrack(kStoreTrack)->end, (Location{7, 0}));
  EXPECT_EQ(disks_[0]->FindTrack(kStoreTrack)->gaps.size(), 1u);
  EXPECT_FALSE(store_->deadline().has_value()) << "all is told";
}

// A group with gaps is whole only for whoever knows of them.
TEST_F(StoreTest, ATierIsToldAgainBeforeItIsGivenMore) {
  Make(1);
  ASSERT_TRUE(store_->Put(kStoreTrack, StoreObject({0, 0}), Durability::kDisk, now_).ok());
  Finish();
  disks_[0]->refuses = true;
  (void)store_->AddGap(kStoreTrack, {{0, 1}, {0, 1}}, Durability::kDisk, now_);
  disks_[0]->refuses = false;
  const auto kept = store_->Put(kStoreTrack, StoreObject({0, 2}), Durability::kDisk, now_);
  ASSERT_TRUE(kept.ok());
  ASSERT_EQ(disks_[0]->writes(), 2u);
  disks_[0]->FinishWrite();
  Take();
  EXPECT_FALSE(written_.contains(*kept->ticket));
  disks_[0]->FinishWrite();
  Take();
  EXPECT_TRUE(written_.contains(*kept->ticket));
}

// Nothing more may come of a track that has ended.
TEST_F(StoreTest, ATierIsToldAgainInTimeThoughNothingElseIsWritten) {
  Make(1);
  ASSERT_TRUE(PutGroup(0, 2, Durability::kDisk).has_value());
  Finish();
  disks_[0]->refuses = true;
  ASSERT_TRUE(store_->EndTrack(kStoreTrack, {7, 0}, now_).ok());
  for (int turn = 0; turn < 3; ++turn) {
    ASSERT_TRUE(store_->deadline().has_value());
    now_ = *store_->deadline();
    Take();
  }
  EXPECT_FALSE(disks_[0]->FindTrack(kStoreTrack)->end.has_value());
  disks_[0]->refuses = false;
  now_ = *store_->deadline();
  Finish();
  EXPECT_EQ(disks_[0]->FindTrack(kStoreTrack)->end, (Location{7, 0}));
  // The same of what it heard, and could not write.
  disks_[0]->owes = true;
  Take();
  now_ = *store_->deadline();
  Take();
  EXPECT_FALSE(disks_[0]->owes);
  Take();
  EXPECT_FALSE(store_->deadline().has_value()) << "all is told";
}

TEST_F(StoreTest, KeepsInMemoryWhatATierHasAndCannotBeReadFrom) {
  Fill();
  ASSERT_EQ(InMemory({0, 0}), std::nullopt);
  disks_[0]->is_away = true;
  const auto kept = store_->Put(kStoreTrack, StoreObject({0, 0}), Durability::kMemory, now_);
  ASSERT_TRUE(kept.ok());
  EXPECT_FALSE(kept->is_new);
  EXPECT_EQ(InMemory({0, 0}), StorePayload({0, 0}));
}

TEST_F(StoreTest, WhoeverWaitsForADiskThatIsAwayIsToldInTheEnd) {
  Make(1);
  const auto kept = store_->Put(kStoreTrack, StoreObject({0, 0}), Durability::kDisk, now_);
  ASSERT_TRUE(kept.ok());
  now_ += std::chrono::minutes(10);
  Take();
  EXPECT_TRUE(written_.empty()) << "it answers, however slowly";
  disks_[0]->is_away = true;
  ASSERT_TRUE(store_->deadline().has_value());
  Take();
  ASSERT_TRUE(written_.at(*kept->ticket).error.has_value());
  EXPECT_EQ(store_->pledged_bytes(Durability::kDisk), 0u);
  EXPECT_EQ(store_->deadline(), std::nullopt);
  written_.clear();
  disks_[0]->is_away = false;
  Finish();
  EXPECT_TRUE(written_.empty()) << "answered twice";
  EXPECT_EQ(InMemory({0, 0}), StorePayload({0, 0}));
}

// What its publisher said does not exist is not missing.
TEST_F(StoreTest, AGroupWithGapsIsWholeAndGoesDown) {
  Make(1, 24'000);
  for (const uint64_t object : {0u, 2u, 3u}) {
    ASSERT_TRUE(store_->Put(kStoreTrack, StoreObject({0, object}), Durability::kMemory, now_).ok());
  }
  ASSERT_TRUE(store_->EndGroup(kStoreTrack, 0, 4, Durability::kMemory, now_).ok());
  EXPECT_FALSE(store_->FindGroup(kStoreTrack, 0)->whole());
  (void)store_->AddGap(kStoreTrack, {{0, 1}, {0, 1}}, Durability::kMemory, now_);
  EXPECT_TRUE(store_->FindGroup(kStoreTrack, 0)->whole());
  for (uint64_t group = 1; group < 8; ++group) {
    ASSERT_TRUE(PutGroup(group, 4).has_value());
    const auto facts = store_->FindGroup(kStoreTrack, 0);  // Wherever it is.
    ASSERT_TRUE(facts && facts->whole()) << group;
    EXPECT_EQ(facts->end, 4u);
  }
  Finish();
  const auto below = disks_[0]->FindGroup(kStoreTrack, 0);
  ASSERT_TRUE(below.has_value());
  EXPECT_TRUE(below->whole());
  EXPECT_EQ(below->object_count, 3u);
}

// It is written as the tier comes to it, and not half of it for nothing.
TEST_F(StoreTest, AGroupLargerThanWhatMayWaitForATierGoesDownAsAWhole) {
  Make(1, 40'000);
  disks_[0]->writes_max = 3;
  for (uint64_t group = 0; group < 8; ++group) {
    ASSERT_TRUE(PutGroup(group, 8).has_value());
    EXPECT_LE(disks_[0]->writes(), 5u);
    Finish();
  }
  size_t below = 0;
  for (uint64_t group = 0; group < 8; ++group) {
    const auto found = disks_[0]->FindGroup(kStoreTrack, group);
    below += found ? 1u : 0u;
    EXPECT_TRUE(!found || (found->whole() && found->object_count == 8)) << group;
  }
  EXPECT_GT(below, 0u);
  EXPECT_EQ(store_->counts().not_demoted, 0u);
  EXPECT_EQ(store_->demoting_bytes(), 0u);
}

TEST_F(StoreTest, AGapIsWaitedForWhereTheGroupIsToBeDurable) {
  Make(1);
  for (const uint64_t object : {0u, 2u}) {
    ASSERT_TRUE(store_->Put(kStoreTrack, StoreObject({0, object}), Durability::kDisk, now_).ok());
  }
  Finish();
  const auto tickets = store_->AddGap(kStoreTrack, {{0, 1}, {0, 1}}, Durability::kDisk, now_);
  ASSERT_EQ(tickets.size(), 1u);
  Take();
  EXPECT_FALSE(written_.contains(tickets[0]));
  Finish();
  EXPECT_TRUE(written_.contains(tickets[0]));
}

TEST_F(StoreTest, EndsAGroupOnceThatIsOnItsWayDown) {
  Make(1, 24'000);
  for (uint64_t group = 0; group < 8; ++group) {
    ASSERT_TRUE(PutGroup(group, 4).has_value());
  }
  ASSERT_FALSE(store_->ram().FindGroup(kStoreTrack, 0).has_value());
  ASSERT_TRUE(store_->IsBelow(kStoreTrack, 0));
  ASSERT_TRUE(PutGroup(0, 4).has_value());
  EXPECT_FALSE(store_->ram().FindGroup(kStoreTrack, 0).has_value());
  EXPECT_EQ(store_->EndGroup(kStoreTrack, 0, 5, Durability::kMemory, now_).error().code(),
            ErrorCode::kMismatch);
}

// The time of receipt goes down with an object, and comes up with it.
TEST_F(StoreTest, ATierBelowIsToldWhenAnObjectWasReceived) {
  Make(1, 24'000);
  std::map<uint64_t, uint64_t> received;
  for (uint64_t group = 0; group < 8; ++group) {
    now_ += seconds(1);
    received[group] = store_->WallAt(now_);
    ASSERT_TRUE(PutGroup(group, 4).has_value());
  }
  Finish();
  size_t below = 0;
  for (uint64_t group = 0; group < 8; ++group) {
    if (const StoredObject* stored = disks_[0]->Find(kStoreTrack, {group, 2})) {
      EXPECT_EQ(stored->received_us, received[group]);
      ++below;
    }
  }
  EXPECT_GT(below, 2u);
}

// Whatever tiers do: every answer comes once and in time, every byte is right, nothing is called
// durable that is not, and memory stays in its bounds.
TEST_F(StoreTest, KeepsItsPromisesWhateverTiersDo) {
  uint64_t hits = 0;
  uint64_t durable = 0;
  for (uint64_t seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    Make(2, 20'000);
    read_.clear();
    written_.clear();
    asked_.clear();
    pledged_.clear();
    for (int step = 0; step < 1000; ++step) {
      const Location at{random.Below(12), random.Below(4)};
      FakeTier& disk = *disks_[random.Below(2)];
      Act(random, at, disk);
      const size_t written_before = written_.size();
      Take();
      ASSERT_LE(store_->ram().bytes(), 20'000u);
      if (written_.size() > written_before) {
        durable += written_.size() - written_before;
      }
      for (const auto& [ticket, found] : read_) {
        ASSERT_TRUE(asked_.contains(ticket));
        if (found) {
          ++hits;
          ASSERT_EQ(found->object.payload.ToString(), StorePayload(asked_.at(ticket).first));
        }
        asked_.erase(ticket);
      }
      read_.clear();
      for (const auto& [ticket, since] : asked_) {
        ASSERT_LT(now_, since.second + seconds(10));
      }
    }
    for (const auto& [ticket, written] : written_) {
      ASSERT_TRUE(pledged_.contains(ticket));
    }
    now_ += seconds(11);
    Take();
    for (const auto& [ticket, since] : asked_) {
      EXPECT_TRUE(read_.contains(ticket));
    }
    EXPECT_EQ(store_->desk().waiting(), 0u);
  }
  EXPECT_GT(hits, 500u);
  EXPECT_GT(durable, 500u);
}

}  // namespace
}  // namespace kvcast
