// What is erased is gone from every tier, with all that is under way for it.
#include "kvcast/store/store_fixture_test.h"

namespace kvcast {
namespace {

using StoreErasure = StoreTest;

TEST_F(StoreErasure, TakesATrackFromMemoryAndFromDisk) {
  Fill();
  const Store::Erased erased = store_->Erase(kStoreTrack, std::nullopt, now_);
  EXPECT_FALSE(erased.refused);
  ASSERT_EQ(erased.tickets.size(), 1u);
  EXPECT_FALSE(store_->GroupFrom(kStoreTrack, 0).has_value());
  EXPECT_FALSE(store_->Find(kStoreTrack).has_value());
  EXPECT_TRUE(store_->Tracks(std::nullopt, 10).empty());
  EXPECT_FALSE(written_.contains(erased.tickets[0]));  // For good only when it is written.
  Finish();
  EXPECT_FALSE(written_.at(erased.tickets[0]).error.has_value());
}

TEST_F(StoreErasure, TakesOneGroupAndLeavesTheOthers) {
  Fill();
  EXPECT_EQ(store_->Erase(kStoreTrack, 0, now_).tickets.size(), 1u);
  EXPECT_FALSE(store_->FindGroup(kStoreTrack, 0).has_value());
  EXPECT_EQ(store_->GroupFrom(kStoreTrack, 0), 1u);
  EXPECT_EQ(store_->Tracks(std::nullopt, 10), std::vector{kStoreTrack});
}

// A read that is under way when its object is erased gives nothing to anybody.
TEST_F(StoreErasure, AnswersThoseWhoWaitForADiskWithNothing) {
  Fill();
  const StoreTicket ticket = Ask({0, 0});
  (void)store_->Erase(kStoreTrack, std::nullopt, now_);
  Finish();
  ASSERT_TRUE(read_.contains(ticket));
  EXPECT_FALSE(read_.at(ticket).has_value());
  EXPECT_FALSE(store_->GroupFrom(kStoreTrack, 0).has_value());
}

TEST_F(StoreErasure, TakesWhatIsOnItsWayDown) {
  Make(1, 24'000);
  for (uint64_t group = 0; group < 8; ++group) {
    ASSERT_TRUE(PutGroup(group, 4).has_value());
  }
  ASSERT_GT(store_->demoting_bytes(), 0u);
  (void)store_->Erase(kStoreTrack, std::nullopt, now_);
  EXPECT_EQ(store_->demoting_bytes(), 0u);
  Finish();
  EXPECT_FALSE(store_->GroupFrom(kStoreTrack, 0).has_value());
}

// A removal that was not written would be undone by the next start: it is written once more when
// somebody asks again, although nothing is known of the track by then.
TEST_F(StoreErasure, WritesARemovalAgainThatFailed) {
  Fill();
  const Store::Erased first = store_->Erase(kStoreTrack, std::nullopt, now_);
  while (disks_[0]->writes() > 0) {
    disks_[0]->FinishWrite(/*fails=*/true);
  }
  Take();
  ASSERT_TRUE(written_.at(first.tickets[0]).error.has_value());
  EXPECT_EQ(store_->Tracks(std::nullopt, 10), std::vector{kStoreTrack});
  const Store::Erased again = store_->Erase(kStoreTrack, std::nullopt, now_);
  ASSERT_EQ(again.tickets.size(), 1u);
  Finish();
  EXPECT_FALSE(written_.at(again.tickets[0]).error.has_value());
  EXPECT_TRUE(store_->Tracks(std::nullopt, 10).empty());
}

TEST_F(StoreErasure, SaysWhichTiersCouldNotBeAsked) {
  Fill();
  disks_[0]->refuses = true;
  EXPECT_TRUE(store_->Erase(kStoreTrack, std::nullopt, now_).refused);
  disks_[0]->refuses = false;
  disks_[0]->is_ready = false;
  EXPECT_TRUE(store_->Erase(kStoreTrack, std::nullopt, now_).refused);
  disks_[0]->is_ready = true;
  EXPECT_FALSE(store_->Erase(kStoreTrack, std::nullopt, now_).refused);
}

// What a disk still has, because it took no removal, is not given to anybody.
TEST_F(StoreErasure, BarsWhatCameBeforeAndNotWhatComesAfter) {
  Fill();
  disks_[0]->refuses = true;
  store_->Bar([](const TrackName& track) { return track == kStoreTrack; }, now_);
  (void)store_->Erase(kStoreTrack, std::nullopt, now_);
  disks_[0]->refuses = false;
  const StoreTicket ticket = Ask({0, 0});
  Finish();
  EXPECT_FALSE(read_.at(ticket).has_value());
  EXPECT_FALSE(InMemory({0, 0}).has_value());
  (void)store_->Erase(kStoreTrack, std::nullopt, now_);
  now_ += std::chrono::seconds(1);
  ASSERT_TRUE(PutGroup(0, 4).has_value());
  EXPECT_TRUE(InMemory({0, 0}).has_value());
}

TEST_F(StoreErasure, NamesTracksOfAllTiersInOrder) {
  Make(1);
  const TrackName other = *TrackName::Of(*TrackNamespace::Of({"a", "c"}), "t");
  ASSERT_TRUE(store_->Put(other, StoreObject({0, 0}), Durability::kMemory, now_).ok());
  ASSERT_TRUE(PutGroup(0, 2, Durability::kDisk).has_value());
  Finish();
  EXPECT_EQ(store_->Tracks(std::nullopt, 10), (std::vector{kStoreTrack, other}));
  EXPECT_EQ(store_->Tracks(std::nullopt, 1), std::vector{kStoreTrack});
  EXPECT_EQ(store_->Tracks(kStoreTrack, 10), std::vector{other});
}

}  // namespace
}  // namespace kvcast
