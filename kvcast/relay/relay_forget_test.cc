// What is forgotten is gone from every tier and from the catalogs, and does not come back.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "kvcast/catalog/acknowledgement.h"
#include "kvcast/relay/cache_names_test.h"
#include "kvcast/relay/relay_world_test.h"
#include "kvcast/store/fake_tier_test.h"

namespace kvcast::relay {
namespace {

TEST(ForgetScope, MeansATenantAModelOrAPrefix) {
  const TrackName llama = CacheOf("acme/llama@0123456789abcdef", "p");
  EXPECT_TRUE(TenantOnly("acme").Covers(llama));
  EXPECT_FALSE(TenantOnly("acm").Covers(llama));
  EXPECT_TRUE((ForgetScope{"acme", "llama", {}, {}}.Covers(llama)));
  EXPECT_TRUE((ForgetScope{"acme", "llama@0123456789abcdef", {}}.Covers(llama)));
  EXPECT_FALSE((ForgetScope{"acme", "llam", {}}.Covers(llama)));
  EXPECT_FALSE((ForgetScope{"acme", "llama@0123", {}}.Covers(llama)));
  EXPECT_TRUE((ForgetScope{"acme", {}, Sha256::Of("p")}.Covers(llama)));
  EXPECT_FALSE((ForgetScope{"acme", {}, Sha256::Of("q")}.Covers(llama)));
  EXPECT_TRUE((ForgetScope{"acme", {}, Sha256::Of("q")}.MayHold(llama)));
  const TrackName catalog =
      *TrackName::Of(*TrackNamespace::Of({kServiceField, "acme/llama@0", "catalog", "node"}), "v1");
  EXPECT_FALSE(TenantOnly("acme").MayHold(catalog));
}

// A node with a disk that does what a test tells it.
class RelayForget : public testing::Test {
 protected:
  RelayForget() { Start(); }
  // Again: with what the disk has made durable, and nothing else.
  void Start() {
    RelayWorld::Options options;
    options.relay.ram_bytes = 100'000'000;
    options.relay.epoch_us = 1'700'000'000'000'000;
    std::unique_ptr<FakeTier> tier =
        disk_ == nullptr ? std::make_unique<FakeTier>() : disk_->AfterDeath();
    disk_ = tier.get();
    world_ = std::make_unique<RelayWorld>(options);
    world_->relay().AddTier(TierKind::kDisk, std::move(tier));
    world_->Wait(Duration::zero());
  }
  void RunAll() {
    do {
      world_->Run();
      disk_->FinishWrites();
      while (disk_->reads() > 0) {
        disk_->FinishRead();
      }
      world_->Wait(std::chrono::milliseconds(1));
      world_->Run();
    } while (disk_->reads() + disk_->writes() > 0);
  }
  RequestId Begin(Client& publisher, const TrackName& track, uint64_t groups) {
    const RequestId request =
        *publisher->Publish(track, {}, DurabilityProperties(Durability::kDisk));
    world_->Run();
    for (uint64_t group = 0; group < groups; ++group) {
      publisher.SendGroup(request, track, group, 3);
    }
    RunAll();
    return request;
  }
  void Publish(Client& publisher, const TrackName& track, uint64_t groups) {
    const RequestId request = Begin(publisher, track, groups);
    ASSERT_TRUE(publisher->EndTrack(request, moqt::DoneCode::kTrackEnded, "").ok());
    RunAll();
  }
  size_t Served(const TrackName& track) {
    Client& reader = world_->Join();
    RunAll();
    moqt::Parameters parameters;
    const auto request = reader->Fetch(track, LocationRange::Groups(0, 100), parameters);
    Brought brought;
    RunAll();
    brought.TakeFrom(reader.session(), *request);
    RunAll();
    brought.TakeFrom(reader.session(), *request);
    world_->Leave(reader);
    return brought.objects.size();
  }
  ForgetReport Forget(const ForgetScope& scope) {
    ForgetReport report = world_->relay().Forget(scope, world_->now());
    const ForgetReport first = report;
    for (int i = 0; i < 10 && !report.complete(); ++i) {
      RunAll();
      report = world_->relay().Forget(scope, world_->now());
    }
    EXPECT_TRUE(report.complete());
    return first;
  }

  FakeTier* disk_ = nullptr;
  std::unique_ptr<RelayWorld> world_;
  const TrackName one_ = CacheOf("acme/llama@0", "one");
  const TrackName two_ = CacheOf("acme/qwen@0", "two");
  const TrackName other_ = CacheOf("globex/llama@0", "one");
};

TEST_F(RelayForget, RemovesATenantFromMemoryDiskAndCatalogsAndLeavesOthersAlone) {
  Client& publisher = world_->Join();
  for (const TrackName& track : {one_, two_, other_}) {
    Publish(publisher, track, 2);
  }
  EXPECT_EQ(world_->relay().listed_blocks(), 6u);
  const ForgetReport report = Forget(TenantOnly("acme"));
  EXPECT_EQ(report.tracks, 2u);
  EXPECT_EQ(report.groups, 4u);
  EXPECT_EQ(report.objects, 12u);
  EXPECT_EQ(report.bytes, 1200u);
  EXPECT_EQ(world_->relay().listed_blocks(), 2u);
  EXPECT_EQ(Served(one_), 0u);
  EXPECT_EQ(Served(two_), 0u);
  EXPECT_EQ(Served(other_), 6u);
  Start();
  EXPECT_EQ(world_->relay().listed_blocks(), 2u);
  EXPECT_EQ(Served(one_), 0u);
  EXPECT_EQ(Served(other_), 6u);
}

TEST_F(RelayForget, TellsInADryRunWhatWouldGoAndLeavesItThere) {
  Publish(world_->Join(), one_, 2);
  for (const ForgetScope& scope :
       {TenantOnly("acme"), ForgetScope{"acme", {}, KeyOf(one_, 1), {}}}) {
    const ForgetReport report = world_->relay().Forget(scope, world_->now(), ForgetMode::kDryRun);
    EXPECT_EQ(report.tracks, scope.prefix ? 0u : 1u);
    EXPECT_EQ(report.groups, scope.prefix ? 1u : 2u);
    EXPECT_EQ(report.objects, 3 * report.groups);
    EXPECT_EQ(report.bytes, 100 * report.objects);
    EXPECT_TRUE(report.complete());
  }
  EXPECT_EQ(world_->relay().TakeForgotten(), nullptr);
  EXPECT_EQ(world_->relay().listed_blocks(), 2u);
  EXPECT_EQ(Served(one_), 6u);
}

TEST_F(RelayForget, IsNotCompleteBeforeTheDiskHasWrittenIt) {
  Publish(world_->Join(), one_, 2);
  const ForgetReport first = world_->relay().Forget(TenantOnly("acme"), world_->now());
  EXPECT_FALSE(first.complete());
  EXPECT_GT(first.pending, 0u);
  EXPECT_EQ(world_->relay().listed_blocks(), 0u);  // Gone all the same.
  RunAll();
  EXPECT_TRUE(world_->relay().Forget(TenantOnly("acme"), world_->now()).complete());
}

TEST_F(RelayForget, SaysSoWhenADiskTakesNoRemoval) {
  Publish(world_->Join(), one_, 2);
  disk_->refuses = true;
  EXPECT_TRUE(world_->relay().Forget(TenantOnly("acme"), world_->now()).refused);
  disk_->refuses = false;
  Forget(TenantOnly("acme"));
  EXPECT_EQ(Served(one_), 0u);
}

TEST_F(RelayForget, RemovesOneModelOrOnePrefix) {
  Client& publisher = world_->Join();
  Publish(publisher, one_, 2);
  Publish(publisher, two_, 2);
  EXPECT_EQ(Forget({"acme", "qwen", {}}).tracks, 1u);
  EXPECT_EQ(Served(one_), 6u);
  EXPECT_EQ(Served(two_), 0u);
  EXPECT_EQ(Forget({"acme", {}, Sha256::Of("one")}).tracks, 1u);
  EXPECT_EQ(Served(one_), 0u);
}

// A prefix is a block, too, wherever somebody else has published it as part of more.
TEST_F(RelayForget, RemovesTheBlockOfAPrefixFromOtherTracks) {
  Publish(world_->Join(), one_, 3);
  const ForgetReport report = Forget({"acme", {}, KeyOf(one_, 1)});
  EXPECT_EQ(report.tracks, 0u);
  EXPECT_EQ(report.groups, 1u);
  EXPECT_EQ(world_->relay().listed_blocks(), 2u);
  EXPECT_EQ(Served(one_), 6u);
}

TEST_F(RelayForget, BreaksOffWhoeverIsPublishingIt) {
  Client& publisher = world_->Join();
  const RequestId request = Begin(publisher, one_, 2);
  Client& follower = world_->Join();
  (void)*follower->Subscribe(one_, {});
  RunAll();
  const moqt::StreamId stream = publisher.OpenGroup(request, 2);
  ASSERT_TRUE(publisher->SendObject(request, stream, ObjectAt(one_, {2, 0})).ok());
  RunAll();
  Forget(TenantOnly("acme"));
  (void)publisher->SendObject(request, stream, ObjectAt(one_, {2, 1})).ok();  // Late.
  RunAll();
  EXPECT_EQ(Served(one_), 0u);
  EXPECT_EQ(publisher.Take<moqt::RequestCancelled>().size(), 1u);
  EXPECT_EQ(follower.Take<moqt::PublishDoneReceived>().size(), 1u);
}

TEST_F(RelayForget, TakesItAgainWhenItIsPublishedAnew) {
  Client& publisher = world_->Join();
  Publish(publisher, one_, 2);
  Forget(TenantOnly("acme"));
  Publish(publisher, one_, 2);
  EXPECT_EQ(Served(one_), 6u);
  EXPECT_EQ(world_->relay().listed_blocks(), 2u);
  Start();
  EXPECT_EQ(Served(one_), 6u);
}

// Whoever was about to be sent it gets no more of it, from whatever tier that was being read.
TEST_F(RelayForget, BreaksOffFetchesThatWaitForADisk) {
  Publish(world_->Join(), one_, 2);
  Start();  // Nothing of it is in memory.
  Client& reader = world_->Join();
  world_->Run();
  const RequestId request = *reader->Fetch(one_, LocationRange::Groups(0, 1), {});
  world_->Run();
  ASSERT_GT(disk_->reads(), 0u);
  Forget(TenantOnly("acme"));
  RunAll();
  Brought brought;
  brought.TakeFrom(reader.session(), request);
  EXPECT_TRUE(brought.objects.empty());
  EXPECT_EQ(Served(one_), 0u);
  EXPECT_EQ(world_->relay().listed_blocks(), 0u);
}

}  // namespace
}  // namespace kvcast::relay
