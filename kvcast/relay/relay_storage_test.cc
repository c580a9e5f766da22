// A node with a tier below memory: what it serves from there, what it says after a restart, and
// what it tells publishers that want to know.
#include <gtest/gtest.h>

#include <set>

#include "kvcast/relay/relay_storage_fixture_test.h"

namespace kvcast::relay {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

TEST_F(RelayStorage, AnswersForAStoredTrackAfterARestart) {
  Start();
  {
    Client& publisher = world_->Join();
    const RequestId request = PublishDurably(publisher, 2);
    ASSERT_TRUE(publisher->EndTrack(request, moqt::DoneCode::kTrackEnded, "").ok());
    RunAll();
  }
  Start();
  EXPECT_TRUE(world_->relay().opened());
  EXPECT_EQ(world_->relay().listed_blocks(), 2u);
  Client& reader = world_->Join();
  CatalogFollower follower(reader);
  world_->Run();
  follower.Follow();
  world_->Run();
  follower.Follow();
  EXPECT_EQ(follower.Listed(kStored),
            (std::map<uint64_t, Digest>{{0, KeyOf(kStored, 0)}, {1, KeyOf(kStored, 1)}}));

  (void)*reader->AskTrackStatus(kStored, {});
  const RequestId subscribed = *reader->Subscribe(kStored, {});
  moqt::Parameters parameters;
  const RequestId fetch = *reader->Fetch(kStored, LocationRange::Groups(0, 1), parameters);
  RunAll();
  const auto accepted = reader.Take<moqt::RequestAccepted>();
  ASSERT_GE(accepted.size(), 2u);
  for (const auto& answer : accepted) {
    if (answer.parameters.largest_object) {
      EXPECT_EQ(answer.parameters.largest_object, (Location{1, 2}));
    }
  }
  Brought brought;
  brought.TakeFrom(reader.session(), fetch);
  ASSERT_EQ(brought.objects.size(), 6u);
  for (const Object& object : brought.objects) {
    EXPECT_EQ(object.payload.ToString(), PayloadAt(kStored, object.location, 100));
  }
  EXPECT_EQ(brought.items.size(), 6u);  // Nothing of it is unknown.
  EXPECT_TRUE(brought.fetch_end && brought.fetch_end->complete);
  Brought live;
  live.TakeFrom(reader.session(), subscribed);
  ASSERT_TRUE(live.track_end.has_value());
  EXPECT_EQ(live.track_end->done.code, moqt::DoneCode::kTrackEnded);
}

// What contradicts what another publisher has sent is not kept.
TEST_F(RelayStorage, KeepsNothingThatMakesATrackMalformed) {
  Start();
  PublishDurably(world_->Join(), 3);
  RunAll();
  Client& liar = world_->Join();
  const RequestId request = PublishDurably(liar, 0);
  const moqt::StreamId stream = liar.OpenGroup(request, 10);
  Object contradicting = ObjectAt(kStored, {10, 0});
  contradicting.properties = PropertiesBuilder().Number(property::kPriorGroupIdGap, 9).Build();
  ASSERT_TRUE(liar->SendObject(request, stream, contradicting).ok());
  RunAll();
  Client& reader = world_->Join();
  const RequestId fetch = *reader->Fetch(kStored, LocationRange::Groups(0, 10), {});
  RunAll();
  Brought brought;
  brought.TakeFrom(reader.session(), fetch);
  EXPECT_EQ(brought.objects.size(), 9u);
}

// What its publisher left out does not exist, and the node says so for as long as it has the track.
TEST_F(RelayStorage, KnowsGapsAfterARestart) {
  Start();
  {
    Client& publisher = world_->Join();
    const RequestId request = PublishDurably(publisher, 1);
    const moqt::StreamId stream = publisher.OpenGroup(request, 4);
    Object first = ObjectAt(kStored, {4, 2});
    first.properties = PropertiesBuilder()
                           .Number(property::kPriorGroupIdGap, 3)
                           .Number(property::kPriorObjectIdGap, 2)
                           .Build();
    ASSERT_TRUE(publisher->SendObject(request, stream, first).ok());
    ASSERT_TRUE(publisher->EndSubgroup(request, stream).ok());
    RunAll();
  }
  for (const bool restarted : {false, true}) {
    SCOPED_TRACE(restarted);
    if (restarted) {
      Start();
    }
    Client& reader = world_->Join();
    for (const auto order : {moqt::GroupOrder::kAscending, moqt::GroupOrder::kDescending}) {
      moqt::Parameters parameters;
      parameters.group_order = order;
      const RequestId fetch = *reader->Fetch(kStored, LocationRange::Groups(0, 4), parameters);
      RunAll();
      Brought brought;
      brought.TakeFrom(reader.session(), fetch);
      EXPECT_EQ(brought.objects.size(), 4u);
      EXPECT_EQ(brought.items.size(), 4u) << "Nothing of it is unknown.";
    }
  }
}

// FILL_TIMEOUT is what a fetch may wait for a disk in all.
TEST_F(RelayStorage, AFetchWaitsForADiskNoLongerThanItWants) {
  Start();
  PublishDurably(world_->Join(), 2);
  RunAll();
  Start();
  Client& reader = world_->Join();
  moqt::Parameters parameters;
  parameters.fill_timeout_ms = 3000;
  const RequestId fetch = *reader->Fetch(kStored, LocationRange::Groups(0, 1), parameters);
  parameters.fill_timeout_ms = 0;
  const RequestId at_once = *reader->Fetch(kStored, LocationRange::Groups(0, 1), parameters);
  world_->Run();
  Brought none;
  none.TakeFrom(reader.session(), at_once);
  EXPECT_TRUE(none.objects.empty());
  EXPECT_TRUE(none.fetch_end && none.fetch_end->complete);
  world_->Wait(milliseconds(2000));
  disk_->FinishRead();  // The first object; there is a second left for the others.
  world_->Wait(milliseconds(0));
  world_->Run();
  Brought brought;
  brought.TakeFrom(reader.session(), fetch);
  EXPECT_EQ(brought.objects.size(), 1u);
  EXPECT_FALSE(brought.fetch_end);
  world_->Wait(milliseconds(1000));
  world_->Run();
  brought.TakeFrom(reader.session(), fetch);
  EXPECT_EQ(brought.objects.size(), 1u);
  ASSERT_TRUE(brought.fetch_end && brought.fetch_end->complete);
  EXPECT_TRUE(std::get<moqt::RangeEnd>(brought.items.back()).unknown);
}

// Whoever begins to read a track that is on disk will want the rest of it.
TEST_F(RelayStorage, ReadsAheadOfWhoBeginsATrack) {
  Start();
  PublishDurably(world_->Join(), 6);
  RunAll();
  Start();
  Client& reader = world_->Join();
  const RequestId fetch = *reader->Fetch(kStored, LocationRange::Groups(0, 1), {});
  RunAll();
  Brought brought;
  brought.TakeFrom(reader.session(), fetch);
  EXPECT_EQ(brought.objects.size(), 6u);
  EXPECT_EQ(disk_->get_count, 12u);
  // As much again is in memory; what nobody comes near to is not.
  EXPECT_EQ(world_->Fetch(reader, kStored, LocationRange::Groups(2, 3)).objects.size(), 6u);
  EXPECT_EQ(disk_->get_count, 12u);
}

// Others may fill memory meanwhile: what a fetch is about to send stays.
TEST_F(RelayStorage, AFetchThatIsBeingSentKeepsItsGroups) {
  RelayWorld::Options options = LittleRoom();
  options.relay.ram_bytes = 1'600'000;
  world_ = std::make_unique<RelayWorld>(options);
  Client& publisher = world_->Join();
  publisher.PublishAll(kStored, 2, 50, 1000);
  world_->Run();
  Client& reader = world_->Join();
  const RequestId fetch = *reader->Fetch(kStored, LocationRange::Groups(0, 1), {});
  world_->Run();  // It stands still: nobody takes it.
  for (int other = 0; other < 60; ++other) {
    publisher.PublishAll(BlockTrack("other" + std::to_string(other)), 1, 50, 1000);
    world_->Run();
  }
  Brought brought;
  do {
    brought.TakeFrom(reader.session(), fetch);
  } while (world_->Step());
  brought.TakeFrom(reader.session(), fetch);
  EXPECT_EQ(brought.objects.size(), 100u);
}

// A fetch that waits for a disk waits alone.
TEST_F(RelayStorage, AStalledDiskDelaysNobodyElse) {
  Start();
  PublishDurably(world_->Join(), 2);
  RunAll();
  Start();
  Client& publisher = world_->Join();
  Client& reader = world_->Join();
  const TrackName other = BlockTrack("other");
  publisher.PublishAll(other, 1, 2);
  world_->Run();
  const RequestId stalled = *reader->Fetch(kStored, LocationRange::Groups(0, 1), {});
  world_->Run();
  EXPECT_EQ(disk_->reads(), 6u);  // Read ahead, over the end of a group.
  EXPECT_EQ(world_->Fetch(reader, other, LocationRange::Groups(0, 0)).objects.size(), 2u);
  // In time it ends, with what is not to be had as unknown.
  world_->Wait(seconds(10));
  world_->Run();
  Brought brought;
  brought.TakeFrom(reader.session(), stalled);
  EXPECT_TRUE(brought.objects.empty());
  ASSERT_TRUE(brought.fetch_end && brought.fetch_end->complete);
  EXPECT_TRUE(std::get<moqt::RangeEnd>(brought.items.back()).unknown);
}

TEST_F(RelayStorage, AFetchThatIsCancelledAsksTheDiskForNothingMore) {
  Start();
  PublishDurably(world_->Join(), 2);
  RunAll();
  Start();
  disk_->reads_max = 1;
  Client& reader = world_->Join();
  const RequestId fetch = *reader->Fetch(kStored, LocationRange::Groups(0, 1), {});
  world_->Run();
  EXPECT_EQ(disk_->reads(), 1u);
  reader->Cancel(fetch, moqt::ResetCode::kCancelled);
  world_->Run();
  disk_->FinishRead();
  world_->Wait(milliseconds(0));
  EXPECT_EQ(disk_->reads(), 0u);
}

TEST_F(RelayStorage, ServesFromBelowWhatMemoryHasNoRoomFor) {
  Start(/*ram_bytes=*/36'000);
  Client& publisher = world_->Join();
  Client& reader = world_->Join();
  const RequestId request = *publisher->Publish(kStored, {}, {});
  for (uint64_t group = 0; group < 20; ++group) {
    publisher.SendGroup(request, kStored, group, 3, 500);
    RunAll();
  }
  EXPECT_LE(world_->relay().stored_bytes(), 36'000u);
  EXPECT_EQ(world_->relay().listed_blocks(), 20u);
  const RequestId fetch = *reader->Fetch(kStored, LocationRange::Groups(0, 19), {});
  Brought brought;
  for (int i = 0; i < 10; ++i) {
    RunAll();
    brought.TakeFrom(reader.session(), fetch);
  }
  EXPECT_EQ(brought.objects.size(), 60u);
  EXPECT_EQ(world_->metrics().Value("kvcast_relay_evicted_groups_total"), 0);
  // What the disk loses, too, is listed no longer, unless it is in memory.
  for (uint64_t group = 0; group < 20; ++group) {
    disk_->Evict(kStored, group);
  }
  world_->Wait(milliseconds(0));
  const size_t listed = world_->relay().listed_blocks();
  EXPECT_GT(listed, 0u);
  EXPECT_LT(listed, 19u);
  EXPECT_EQ(world_->Fetch(reader, kStored, LocationRange::Groups(0, 19)).objects.size(),
            3 * listed);
}

// Memory runs out before a slow tier has taken what it was given, and nothing else has it then.
TEST_F(RelayStorage, ListsAgainWhatATierHasTakenAtLast) {
  Start(/*ram_bytes=*/36'000);
  Client& publisher = world_->Join();
  const RequestId request = PublishDurably(publisher, 0);
  for (uint64_t group = 0; group < 4; ++group) {
    publisher.SendGroup(request, kStored, group, 3, 500);
  }
  world_->Run();
  EXPECT_EQ(world_->relay().listed_blocks(), 4u);
  disk_->refuses = true;  // Too much waits for it: it does not take the same once more.
  publisher.PublishAll(BlockTrack("other"), 30, 3, 500);
  world_->Run();
  Client& reader = world_->Join();
  CatalogFollower follower(reader);
  world_->Run();
  follower.Follow();
  EXPECT_TRUE(follower.Listed(kStored).empty());
  disk_->refuses = false;
  RunAll();
  follower.Follow();
  EXPECT_EQ(follower.Listed(kStored).size(), 4u);
  EXPECT_EQ(follower.Listed(kStored)[3], KeyOf(kStored, 3));
}

TEST_F(RelayStorage, AcknowledgesWhatIsDurable) {
  Start();
  Client& publisher = world_->Join();
  PublishDurably(publisher, 3);
  const RequestId acks = *publisher->Subscribe(kAckTrack, {});
  world_->Run();
  EXPECT_TRUE(Acks(publisher, acks).empty());
  RunAll();
  // Streams overtake each other, and so do their groups.
  std::set<uint64_t> groups;
  for (const AckRecord& record : Acks(publisher, acks)) {
    EXPECT_EQ(record.level, Durability::kDisk);
    EXPECT_EQ(record.name, kStored.name());
    for (uint64_t group = record.first; group <= record.last; ++group) {
      EXPECT_TRUE(groups.insert(group).second);
    }
  }
  EXPECT_EQ(groups, (std::set<uint64_t>{0, 1, 2}));
  // Whoever comes later hears it too.
  Client& other = world_->Join();
  const RequestId again = *other->Subscribe(kAckTrack, {});
  world_->Run();
  EXPECT_EQ(Acks(other, again),
            (std::vector<AckRecord>{{Durability::kDisk, kStored.name(), 0, 2}}));
}

TEST_F(RelayStorage, SaysWhatDidNotBecomeDurable) {
  Start();
  Client& publisher = world_->Join();
  PublishDurably(publisher, 1);
  const RequestId acks = *publisher->Subscribe(kAckTrack, {});
  world_->Run();
  ASSERT_GT(disk_->writes(), 3u);
  disk_->FinishWrite(/*fails=*/true, /*which=*/2);
  RunAll();
  EXPECT_EQ(Acks(publisher, acks), (std::vector<AckRecord>{{std::nullopt, kStored.name(), 0, 0}}));
}

// A group that is not whole is promised to nobody.
TEST_F(RelayStorage, AcknowledgesWholeGroupsOnly) {
  Start();
  Client& publisher = world_->Join();
  const RequestId request = PublishDurably(publisher, 0);
  const RequestId acks = *publisher->Subscribe(kAckTrack, {});
  const moqt::StreamId stream = publisher.OpenGroup(request, 0);
  ASSERT_TRUE(publisher->SendObject(request, stream, ObjectAt(kStored, {0, 0})).ok());
  RunAll();
  EXPECT_TRUE(Acks(publisher, acks).empty());
  ASSERT_TRUE(publisher->EndSubgroup(request, stream).ok());
  RunAll();
  EXPECT_EQ(Acks(publisher, acks).size(), 1u);
}

// What does not exist is not waited for, but that it does not is.
TEST_F(RelayStorage, AcknowledgesAndListsAGroupWithGaps) {
  Start();
  Client& publisher = world_->Join();
  const RequestId request = PublishDurably(publisher, 0);
  const RequestId acks = *publisher->Subscribe(kAckTrack, {});
  const moqt::StreamId stream = publisher.OpenGroup(request, 0);
  Object third = ObjectAt(kStored, {0, 2});
  third.properties = PropertiesBuilder().Number(property::kPriorObjectIdGap, 1).Build();
  ASSERT_TRUE(publisher->SendObject(request, stream, ObjectAt(kStored, {0, 0})).ok());
  ASSERT_TRUE(publisher->SendObject(request, stream, third).ok());
  ASSERT_TRUE(publisher->EndSubgroup(request, stream).ok());
  RunAll();
  EXPECT_EQ(Acks(publisher, acks),
            (std::vector<AckRecord>{{Durability::kDisk, kStored.name(), 0, 0}}));
  EXPECT_EQ(world_->relay().listed_blocks(), 1u);
  Start();
  EXPECT_EQ(world_->relay().listed_blocks(), 1u) << "after a restart too";
}

// Where objects hold runs of tokens each leaves out some behind it: a long prompt has more gaps
// than are remembered of a track, and all of its blocks are to be found.
TEST_F(RelayStorage, AcknowledgesAndListsEveryGroupHoweverManyObjectsATrackLeavesOut) {
  Start();
  constexpr uint64_t kGroups = 40;
  constexpr uint64_t kObjects = 64;
  static_assert(kGroups * (kObjects - 1) > 2 * TrackFacts::kGapsMax);
  {
    Client& publisher = world_->Join();
    const RequestId request = PublishDurably(publisher, 0);
    const RequestId acks = *publisher->Subscribe(kAckTrack, {});
    for (uint64_t group = 0; group < kGroups; ++group) {
      const moqt::StreamId stream = publisher.OpenGroup(request, group);
      for (uint64_t i = 0; i < kObjects; ++i) {
        Object run = ObjectAt(kStored, {group, 2 * i});
        if (i > 0) {
          run.properties = PropertiesBuilder().Number(property::kPriorObjectIdGap, 1).Build();
        }
        ASSERT_TRUE(publisher->SendObject(request, stream, run).ok());
      }
      ASSERT_TRUE(publisher->EndSubgroup(request, stream).ok());
      RunAll();
    }
    uint64_t acknowledged = 0;
    for (const AckRecord& ack : Acks(publisher, acks)) {
      acknowledged += ack.level == Durability::kDisk ? ack.last - ack.first + 1 : 0;
    }
    EXPECT_EQ(acknowledged, kGroups);
    EXPECT_EQ(world_->relay().listed_blocks(), kGroups);
  }
  Start();
  EXPECT_EQ(world_->relay().listed_blocks(), kGroups) << "after a restart too";
  Client& reader = world_->Join();
  const RequestId fetch = *reader->Fetch(kStored, LocationRange::Groups(0, kGroups - 1), {});
  RunAll();
  Brought brought;
  brought.TakeFrom(reader.session(), fetch);
  EXPECT_EQ(brought.objects.size(), kGroups * kObjects);
  EXPECT_EQ(brought.items.size(), kGroups * kObjects) << "nothing is unknown";
}

// A disk that is full for a moment does not hear of a gap that another publisher tells of, and
// takes what follows. Without the gap the group would not be whole after a restart.
TEST_F(RelayStorage, AcknowledgesAGroupWhenTheGapIsDurableThatTheDiskRefusedBefore) {
  for (const bool writes_on : {false, true}) {
    SCOPED_TRACE(writes_on);
    disk_ = nullptr;
    Start();
    Client& publisher = world_->Join();
    const RequestId request = PublishDurably(publisher, 0);
    const RequestId acks = *publisher->Subscribe(kAckTrack, {});
    Client& other = world_->Join();
    const RequestId request_of_other = PublishDurably(other, 0);
    RunAll();
    const moqt::StreamId stream = publisher.OpenGroup(request, 0);
    Object third = ObjectAt(kStored, {0, 2});
    disk_->refuses_facts = true;
    ASSERT_TRUE(publisher->SendObject(request, stream, ObjectAt(kStored, {0, 0})).ok());
    ASSERT_TRUE(publisher->SendObject(request, stream, third).ok());
    RunAll();
    third.properties = PropertiesBuilder().Number(property::kPriorObjectIdGap, 1).Build();
    ASSERT_TRUE(
        other->SendObject(request_of_other, other.OpenGroup(request_of_other, 0), third).ok());
    if (!writes_on) {
      ASSERT_TRUE(publisher->EndSubgroup(request, stream).ok());
    }
    RunAll();
    EXPECT_TRUE(Acks(publisher, acks).empty());
    disk_->refuses_facts = false;
    if (writes_on) {
      ASSERT_TRUE(publisher->EndSubgroup(request, stream).ok());
      world_->Run();
      ASSERT_GE(disk_->writes(), 2u);
      while (disk_->writes() > 1) {
        disk_->FinishWrite(false, disk_->writes() - 1);
      }
    } else {
      world_->Wait(std::chrono::seconds(2));
      ASSERT_EQ(disk_->writes(), 1u) << "it is told again";
    }
    world_->Wait(Duration::zero());
    world_->Run();
    EXPECT_TRUE(Acks(publisher, acks).empty()) << "the gap is not durable yet";
    RunAll();
    EXPECT_EQ(Acks(publisher, acks),
              (std::vector<AckRecord>{{Durability::kDisk, kStored.name(), 0, 0}}));
  }
}

TEST_F(RelayStorage, RefusesDurabilityThatItCannotGive) {
  Start();
  Client& publisher = world_->Join();
  (void)*publisher->Publish(kStored, {}, DurabilityProperties(Durability::kBucket));
  world_->Run();
  EXPECT_EQ(publisher.One<moqt::RequestRefused>().error.code, moqt::RequestCode::kNotSupported);
  disk_->refuses = true;
  (void)*publisher->Publish(kStored, {}, DurabilityProperties(Durability::kDisk));
  world_->Run();
  const moqt::RequestRefused refused = publisher.One<moqt::RequestRefused>();
  EXPECT_EQ(refused.error.code, moqt::RequestCode::kExcessiveLoad);
  EXPECT_NE(refused.error.reason.find("full"), std::string::npos);
  (void)*publisher->Publish(kStored, {}, {});  // What asks for nothing is taken as before.
  world_->Run();
  EXPECT_EQ(publisher.Take<moqt::RequestAccepted>().size(), 1u);
}

TEST_F(RelayStorage, OnlyTheNodeAcknowledges) {
  Start();
  Client& publisher = world_->Join();
  Client& other = world_->Join();
  PublishDurably(publisher, 1);
  RunAll();
  (void)*other->Publish(kAckTrack, {}, {});
  world_->Run();
  EXPECT_EQ(other.One<moqt::RequestRefused>().error.code, moqt::RequestCode::kUnauthorized);
}

// A disk slower than the network slows its publishers down, and loses nothing.
TEST_F(RelayStorage, APublisherFasterThanTheDiskWaits) {
  Start(100'000'000, /*pledged_bytes=*/1000);
  Client& publisher = world_->Join();
  const RequestId request =
      *publisher->Publish(kStored, {}, DurabilityProperties(Durability::kDisk));
  world_->Run();
  const RequestId acks = *publisher->Subscribe(kAckTrack, {});
  world_->Run();
  for (uint64_t group = 0; group < 10; ++group) {
    publisher.SendGroup(request, kStored, group, 10);
  }
  ASSERT_TRUE(publisher->EndTrack(request, moqt::DoneCode::kTrackEnded, "").ok());
  world_->Run();
  EXPECT_LE(disk_->writes(), 15u);
  world_->Wait(seconds(30));  // Longer than streams may take after the end, but they wait for us.
  world_->Run();
  RunAll();
  Client& reader = world_->Join();
  EXPECT_EQ(world_->Fetch(reader, kStored, LocationRange::Groups(0, 9)).objects.size(), 100u);
  uint64_t acknowledged = 0;
  for (const AckRecord& record : Acks(publisher, acks)) {
    acknowledged += record.level ? record.last - record.first + 1 : 0;
  }
  EXPECT_EQ(acknowledged, 10u);
}

// A bucket that is out holds up those who want to be in it, and nobody else.
TEST_F(RelayStorage, WhoWaitsForABucketHoldsUpNobodyWhoWaitsForADisk) {
  Start(100'000'000, /*pledged_bytes=*/1000);
  auto owned = std::make_unique<FakeTier>();
  FakeTier* const bucket = owned.get();
  world_->relay().AddTier(TierKind::kBucket, std::move(owned));
  world_->Wait(milliseconds(0));
  const TrackName slow = BlockTrack("slow");
  Client& waiting = world_->Join();
  const RequestId request = *waiting->Publish(slow, {}, DurabilityProperties(Durability::kBucket));
  world_->Run();
  for (uint64_t group = 0; group < 10; ++group) {
    waiting.SendGroup(request, slow, group, 10);
  }
  world_->Run();
  EXPECT_LE(bucket->writes(), 15u);
  Client& publisher = world_->Join();
  PublishDurably(publisher, 20);
  RunAll();
  ASSERT_TRUE(disk_->FindGroup(kStored, 19).has_value());
  EXPECT_TRUE(disk_->FindGroup(kStored, 19)->whole());
  EXPECT_LE(bucket->writes(), 15u);
  while (bucket->writes() > 0) {
    bucket->FinishWrites();
    RunAll();
  }
  ASSERT_TRUE(bucket->FindGroup(slow, 9).has_value());
  EXPECT_TRUE(bucket->FindGroup(slow, 9)->whole());
}

// What others put into a bucket is listed, and no longer when it has gone.
TEST_F(RelayStorage, ListsWhatOthersPutIntoABucket) {
  Start();
  auto owned = std::make_unique<FakeTier>();
  FakeTier* const bucket = owned.get();
  world_->relay().AddTier(TierKind::kBucket, std::move(owned));
  world_->Wait(milliseconds(0));
  bucket->Arrive(kStored, 7, {ObjectAt(kStored, {7, 0}, 100), ObjectAt(kStored, {7, 1}, 100)});
  world_->Wait(milliseconds(0));
  EXPECT_EQ(world_->relay().listed_blocks(), 1u);
  Client& reader = world_->Join();
  (void)*reader->Fetch(kStored, LocationRange::Groups(7, 7), {});
  world_->Run();
  EXPECT_EQ(bucket->reads(), 2u);
  bucket->Evict(kStored, 7);
  world_->Wait(milliseconds(0));
  EXPECT_EQ(world_->relay().listed_blocks(), 0u);
}

// MAX_CACHE_DURATION holds over a restart.
TEST_F(RelayStorage, WhatIsStoredExpiresAfterARestartToo) {
  Start();
  Client& publisher = world_->Join();
  const RequestId request = *publisher->Publish(kStored, {}, DurableFor(60'000));
  publisher.SendGroup(request, kStored, 0, 2);
  RunAll();
  Start();  // The clock of a new process: nothing has passed.
  RunAll();
  EXPECT_EQ(world_->relay().listed_blocks(), 1u);
  world_->Wait(milliseconds(59'999));
  EXPECT_EQ(world_->relay().listed_blocks(), 1u);
  world_->Wait(milliseconds(1));
  EXPECT_EQ(world_->relay().listed_blocks(), 0u);
  EXPECT_EQ(disk_->Find(kStored, {0, 0}), nullptr);
}

// What a disk has lost since may be in memory still, with a date that only the disk knew.
TEST_F(RelayStorage, WhatWasReadExpiresWhereverItIsThen) {
  const TrackName unlisted = *TrackName::Of(*TrackNamespace::Of({"elsewhere"}), "t");
  for (const TrackName& track : {kStored, unlisted}) {
    Start();
    Client& publisher = world_->Join();
    const RequestId request = *publisher->Publish(track, {}, DurableFor(60'000));
    publisher.SendGroup(request, track, 0, 2);
    RunAll();
    Start();
    RunAll();
    Client& reader = world_->Join();
    (void)*reader->Fetch(track, LocationRange::Groups(0, 0), {});
    RunAll();
    disk_->Evict(track, 0);
    RunAll();
    EXPECT_EQ(world_->Fetch(reader, track, LocationRange::Groups(0, 0)).objects.size(), 2u);
    world_->Wait(milliseconds(60'000));
    EXPECT_EQ(world_->Fetch(reader, track, LocationRange::Groups(0, 0)).objects.size(), 0u);
  }
}

}  // namespace
}  // namespace kvcast::relay
