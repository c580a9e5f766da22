// A node whose tier is slow, refuses or fails for a moment: what it says and forgets then.
#include <gtest/gtest.h>

#include "kvcast/relay/relay_storage_fixture_test.h"

namespace kvcast::relay {
namespace {

using std::chrono::seconds;

// Memory runs out before a slow tier has taken what it was given, and nothing else has it then: it
// may stay no longer than it might have.
TEST_F(RelayStorage, WhatATierHasTakenAtLastExpires) {
  Start(/*ram_bytes=*/36'000);
  Client& publisher = world_->Join();
  PublishDurably(publisher, 4, DurableFor(60'000), 500);
  world_->Run();
  disk_->refuses = true;  // Too much waits for it: it does not take the same once more.
  publisher.PublishAll(BlockTrack("other"), 30, 3, 500);
  world_->Run();
  disk_->refuses = false;
  RunAll();
  Client& reader = world_->Join();
  CatalogFollower follower(reader);
  world_->Run();
  follower.Follow();
  world_->Run();
  follower.Follow();
  ASSERT_EQ(follower.Listed(kStored).size(), 4u);
  world_->Wait(seconds(60));
  RunAll();
  follower.Follow();
  EXPECT_TRUE(follower.Listed(kStored).empty());
  EXPECT_EQ(disk_->Find(kStored, {0, 0}), nullptr);
}

TEST_F(RelayStorage, WhatIsDueWhileItIsBeingWrittenIsNotThereAfterwards) {
  Start();
  Client& publisher = world_->Join();
  const RequestId request = PublishDurably(publisher, 0, DurableFor(500));
  const moqt::StreamId stream = publisher.OpenGroup(request, 0);
  ASSERT_TRUE(publisher->SendObject(request, stream, ObjectAt(kStored, {0, 0})).ok());
  world_->Run();
  world_->Wait(seconds(1));
  ASSERT_TRUE(publisher->EndSubgroup(request, stream).ok());
  RunAll();
  EXPECT_EQ(world_->relay().listed_blocks(), 0u);
  EXPECT_EQ(disk_->Find(kStored, {0, 0}), nullptr);
}

TEST_F(RelayStorage, WhatATierDoesNotGiveUpWhenItIsDueItIsAskedForAgain) {
  Start();
  PublishDurably(world_->Join(), 2, DurableFor(500));
  RunAll();
  disk_->refuses = true;
  world_->Wait(seconds(1));
  EXPECT_EQ(world_->relay().listed_blocks(), 0u);
  ASSERT_NE(disk_->Find(kStored, {0, 0}), nullptr);
  disk_->refuses = false;
  ASSERT_TRUE(world_->relay().deadline().has_value());
  world_->Wait(seconds(1));
  RunAll();
  EXPECT_EQ(disk_->Find(kStored, {0, 0}), nullptr);
  EXPECT_EQ(world_->metrics().Value("kvcast_relay_expired_objects_total"), 2);
}

// How old a group is a read tells, and one may fail.
TEST_F(RelayStorage, WhatCannotBeDatedAtAStartIsDatedLater) {
  Start();
  PublishDurably(world_->Join(), 4, DurableFor(3'600'000));
  RunAll();
  Start();
  ASSERT_EQ(disk_->reads(), 4u);
  while (disk_->reads() > 0) {
    disk_->FinishRead(/*fails=*/true);
  }
  world_->Wait(Duration::zero());
  EXPECT_TRUE(world_->relay().opened()) << "nobody waits for a disk that fails";
  EXPECT_EQ(world_->relay().listed_blocks(), 0u);
  ASSERT_TRUE(world_->relay().deadline().has_value());
  world_->Wait(*world_->relay().deadline() - world_->now());
  RunAll();
  EXPECT_EQ(world_->relay().listed_blocks(), 4u);
}

TEST_F(RelayStorage, WhatWasReadBeforeItCouldBeDatedIsListed) {
  Start();
  PublishDurably(world_->Join(), 4, DurableFor(3'600'000));
  RunAll();
  Start();
  while (disk_->reads() > 0) {
    disk_->FinishRead(/*fails=*/true);
  }
  world_->Wait(Duration::zero());
  Client& reader = world_->Join();
  (void)*reader->Fetch(kStored, LocationRange::Groups(0, 3), {});
  RunAll();
  const size_t gets = disk_->get_count;
  world_->Wait(seconds(60));
  RunAll();
  EXPECT_EQ(world_->relay().listed_blocks(), 4u);
  EXPECT_EQ(disk_->get_count, gets) << "it is in memory";
  world_->Wait(seconds(3600));
  EXPECT_EQ(world_->relay().listed_blocks(), 0u);
}

// Nothing more comes of a track that has ended.
TEST_F(RelayStorage, ATrackEndIsKnownAfterARestartThoughATierRefusedItOnce) {
  Start();
  Client& publisher = world_->Join();
  const RequestId request = PublishDurably(publisher, 2);
  RunAll();
  disk_->refuses = true;
  ASSERT_TRUE(publisher->EndTrack(request, moqt::DoneCode::kTrackEnded, "").ok());
  world_->Run();
  disk_->refuses = false;
  ASSERT_TRUE(world_->relay().deadline().has_value());
  world_->Wait(seconds(1));
  RunAll();
  Start();
  Client& reader = world_->Join();
  const RequestId subscribed = *reader->Subscribe(kStored, {});
  RunAll();
  Brought live;
  live.TakeFrom(reader.session(), subscribed);
  EXPECT_TRUE(live.track_end.has_value());
}

}  // namespace
}  // namespace kvcast::relay
