#include "kvcast/relay/miss_log.h"

#include <gtest/gtest.h>

#include "kvcast/relay/relay_storage_fixture_test.h"

namespace kvcast::relay {
namespace {

TEST(MissLog, KeepsTheLastOnes) {
  MissLog log(2);
  for (uint64_t peer = 1; peer <= 3; ++peer) {
    log.Add({.at = Instant(), .peer = peer, .track = BlockTrack("a"), .range = {}});
  }
  ASSERT_EQ(log.misses().size(), 2U);
  EXPECT_EQ(log.misses()[0].peer, 3U);
  EXPECT_EQ(log.misses()[1].peer, 2U);
}

class Misses : public RelayStorage {
 protected:
  // What a disk holds, and memory does not.
  void StartWithDisk() {
    Start();
    PublishDurably(world_->Join(), 2);
    RunAll();
    Start();
    RunAll();
  }
  const std::deque<Miss>& misses() { return world_->relay().misses().misses(); }
};

TEST_F(Misses, AreNoneWhereAllWasThere) {
  StartWithDisk();
  Client& reader = world_->Join();
  (void)*reader->Fetch(kStored, {{0, 0}, {0, 2}}, {});
  RunAll();
  EXPECT_TRUE(misses().empty());
  EXPECT_EQ(world_->metrics().Value("kvcast_relay_fetch_seconds"), 1);
}

TEST_F(Misses, TellOfATrackThatIsNotHere) {
  Start();
  Client& reader = world_->Join();
  const TrackName other = BlockTrack("other");
  (void)*reader->Fetch(other, {{0, 0}, {3, 2}}, {});
  world_->Run();
  ASSERT_EQ(misses().size(), 1U);
  EXPECT_EQ(misses()[0].reason, Miss::Reason::kNoTrack);
  EXPECT_EQ(misses()[0].track, other);
  EXPECT_EQ(misses()[0].peer, reader.peer());
  EXPECT_EQ(world_->metrics().Value("kvcast_relay_missed_fetches_total", {{"reason", "no_track"}}),
            1);
}

TEST_F(Misses, TellOfWhatNoTierHas) {
  Start();
  Client& publisher = world_->Join();
  const RequestId request = *publisher->Publish(kStored, {}, {});
  publisher.SendGroup(request, kStored, 0, 1);
  publisher.SendGroup(request, kStored, 5, 1);
  world_->Run();
  (void)world_->Fetch(world_->Join(), kStored, {{0, 0}, {5, 0}});
  ASSERT_EQ(misses().size(), 1U);
  EXPECT_EQ(misses()[0].reason, Miss::Reason::kNotHere);
  EXPECT_EQ(misses()[0].missing, (Location{4, kWhole}));
  EXPECT_EQ(misses()[0].sent_objects, 2U);
  EXPECT_TRUE(misses()[0].trials.empty());
}

TEST_F(Misses, TellWhichTierFailedAndHowLongItTook) {
  StartWithDisk();
  Client& reader = world_->Join();
  (void)*reader->Fetch(kStored, {{0, 0}, {0, 0}}, {});
  world_->Run();
  ASSERT_GT(disk_->reads(), 0U);
  world_->Wait(std::chrono::seconds(3));
  while (disk_->reads() > 0) {
    disk_->FinishRead(/*fails=*/true);
  }
  world_->Wait(Duration::zero());
  world_->Run();
  ASSERT_EQ(misses().size(), 1U);
  EXPECT_EQ(misses()[0].reason, Miss::Reason::kReadFailed);
  EXPECT_EQ(misses()[0].missing, (Location{0, 0}));
  EXPECT_EQ(misses()[0].took, std::chrono::seconds(3));
  ASSERT_EQ(misses()[0].trials.size(), 1U);
  EXPECT_EQ(misses()[0].trials[0].tier, 0U);
  EXPECT_EQ(misses()[0].trials[0].took, std::chrono::seconds(3));
}

TEST_F(Misses, TellWhichTierWasTooLate) {
  StartWithDisk();
  (void)*world_->Join()->Fetch(kStored, {{0, 0}, {0, 0}}, {});
  world_->Run();
  world_->Wait(std::chrono::hours(1));
  world_->Run();
  ASSERT_EQ(misses().size(), 1U);
  EXPECT_EQ(misses()[0].reason, Miss::Reason::kTooLate);
  ASSERT_EQ(misses()[0].trials.size(), 1U);
  EXPECT_EQ(misses()[0].trials[0].outcome, TierTrial::Outcome::kTooLate);
}

}  // namespace
}  // namespace kvcast::relay
