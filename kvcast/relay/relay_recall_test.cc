// What stands at a node is told to who asks how durable it is, whoever published it, and when.
#include "kvcast/relay/relay_storage_fixture_test.h"

namespace kvcast::relay {
namespace {

class RelayRecall : public RelayStorage {
 protected:
  std::vector<AckRecord> Ask() {
    Client& asking = world_->Join();
    const RequestId request = *asking->Subscribe(kAckTrack, {});
    world_->Run();
    return Acks(asking, request);
  }
  void Publish(const TrackName& track, const Properties& properties, uint64_t groups) {
    Client& publisher = world_->Join();
    const RequestId request = *publisher->Publish(track, {}, properties);
    world_->Run();
    for (uint64_t group = 0; group < groups; ++group) {
      publisher.SendGroup(request, track, group, 3, 100);
    }
    ASSERT_TRUE(publisher->EndTrack(request, moqt::DoneCode::kTrackEnded, "all").ok());
    RunAll();
    world_->Leave(publisher);
    RunAll();
  }
};

TEST_F(RelayRecall, TellsWhatIsDurableLongAfterItsPublisherHasLeft) {
  Start();
  Publish(kStored, DurabilityProperties(Durability::kDisk), 3);
  world_->Wait(std::chrono::hours(1));
  EXPECT_EQ(Ask(), (std::vector<AckRecord>{{Durability::kDisk, kStored.name(), 0, 2}}));
}

TEST_F(RelayRecall, TellsWhatIsDurableAfterARestart) {
  Start();
  Publish(kStored, DurabilityProperties(Durability::kDisk), 3);
  Start();
  EXPECT_EQ(Ask(), (std::vector<AckRecord>{{Durability::kDisk, kStored.name(), 0, 2}}));
}

// Who asks need not wait for a word that does not come.
TEST_F(RelayRecall, TellsWhatIsInMemoryAlone) {
  Start();
  Publish(kStored, {}, 2);
  EXPECT_EQ(Ask(), (std::vector<AckRecord>{{Durability::kMemory, kStored.name(), 0, 1}}));
}

// Who publishes and waits for more is not told that it is there, but not yet there.
TEST_F(RelayRecall, TellsAPublisherNothingOfWhatIsStillUnderWay) {
  Start();
  Publish(kStored, {}, 2);
  (void)Ask();
  Client& publisher = world_->Join();
  PublishDurably(publisher, 2);
  const RequestId acks = *publisher->Subscribe(kAckTrack, {});
  world_->Run();
  EXPECT_TRUE(Acks(publisher, acks).empty());
  RunAll();
  // Streams overtake each other, and so do their groups.
  uint64_t groups = 0;
  for (const AckRecord& record : Acks(publisher, acks)) {
    EXPECT_EQ(record.level, Durability::kDisk);
    groups += record.last - record.first + 1;
  }
  EXPECT_EQ(groups, 2u);
}

TEST_F(RelayRecall, TellsOfEveryTrackOfTheGeneration) {
  Start();
  const TrackName other = *TrackName::Of(kStored.space(), "FP8;h=0-1");
  Publish(kStored, DurabilityProperties(Durability::kDisk), 1);
  Publish(other, {}, 1);
  EXPECT_EQ(Ask(), (std::vector<AckRecord>{{Durability::kDisk, kStored.name(), 0, 0},
                                           {Durability::kMemory, other.name(), 0, 0}}));
}

TEST_F(RelayRecall, OfWhatIsNotHereThereIsNoTrack) {
  Start();
  Client& asking = world_->Join();
  (void)*asking->Subscribe(kAckTrack, {});
  world_->Run();
  EXPECT_EQ(asking.One<moqt::RequestRefused>().error.code, moqt::RequestCode::kDoesNotExist);
}

}  // namespace
}  // namespace kvcast::relay
