#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <utility>
#include <vector>

#include "kvcast/catalog/acknowledgement.h"
#include "kvcast/relay/relay_world_test.h"
#include "kvcast/store/fake_tier_test.h"

namespace kvcast::relay {

inline const TrackName kStored = BlockTrack("prefix");
inline const TrackName kAckTrack = *AckTrackOf(kStored.space());

// A node with a disk below memory, which does what a test tells it.
class RelayStorage : public testing::Test {
 protected:
  void Start(size_t ram_bytes = 100'000'000, size_t pledged_bytes = 64 << 20) {
    RelayWorld::Options options;
    options.relay.ram_bytes = ram_bytes;
    options.relay.limits.pledged_bytes = pledged_bytes;
    options.relay.epoch_us = 1'700'000'000'000'000;
    std::unique_ptr<FakeTier> tier =
        disk_ == nullptr ? std::make_unique<FakeTier>() : disk_->AfterDeath();
    disk_ = tier.get();
    world_ = std::make_unique<RelayWorld>(options);
    world_->relay().AddTier(TierKind::kDisk, std::move(tier));
    world_->Wait(Duration::zero());
  }
  // Everything that the disk was asked for comes to its end, and what follows from it.
  void RunAll() {
    do {
      world_->Run();
      disk_->FinishWrites();
      while (disk_->reads() > 0) {
        disk_->FinishRead();
      }
      world_->Wait(Duration::zero());
      world_->Run();
    } while (disk_->reads() + disk_->writes() > 0);
  }
  RequestId PublishDurably(Client& publisher, uint64_t groups) {
    return PublishDurably(publisher, groups, DurabilityProperties(Durability::kDisk));
  }
  RequestId PublishDurably(Client& publisher, uint64_t groups, const Properties& properties,
                           size_t bytes = 100) {
    const RequestId request = *publisher->Publish(kStored, {}, properties);
    world_->Run();
    for (uint64_t group = 0; group < groups; ++group) {
      publisher.SendGroup(request, kStored, group, 3, bytes);
    }
    return request;
  }
  // Of a track that is durable, and none of which may be kept for longer (MAX_CACHE_DURATION).
  static Properties DurableFor(uint64_t cache_ms) {
    const Properties inner = PropertiesBuilder().Number(kDurabilityProperty, 1).Build();
    return PropertiesBuilder().Number(0x04, cache_ms).Immutable(inner).Build();
  }
  static std::vector<AckRecord> Acks(Client& client, RequestId request) {
    Brought brought;
    brought.TakeFrom(client.session(), request);
    std::vector<AckRecord> all;
    for (const Object& object : brought.objects) {
      const std::vector<AckRecord> records = *ParseAcks(object.payload);
      all.insert(all.end(), records.begin(), records.end());
    }
    return all;
  }

  FakeTier* disk_ = nullptr;
  std::unique_ptr<RelayWorld> world_;
};

}  // namespace kvcast::relay
