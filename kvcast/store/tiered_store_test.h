#pragma once

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "kvcast/store/bucket_tier_fixture_test.h"
#include "kvcast/store/disk_eviction.h"
#include "kvcast/store/disk_tier_fixture_test.h"
#include "kvcast/store/store.h"

namespace kvcast {

inline constexpr uint64_t kGroupObjects = 2;
inline constexpr Duration kTieredPatience = std::chrono::seconds(5);
inline constexpr uint64_t kTieredDemotingBytes = 150'000;  // More than a segment holds.

inline std::string TieredPayload(Location at) {
  return std::string(10'000, static_cast<char>('a' + at.group % 26)) + at.ToString();
}

// A store of memory for four groups, a disk and a bucket.
class TieredStore {
 public:
  explicit TieredStore(uint64_t segments)
      : device(7), bucket(1), side(bucket), segments_(segments) {
    Start();
  }
  // A store that lets an eviction say what its disk gives up, as a node does.
  TieredStore(uint64_t segments, std::string eviction)
      : device(7), bucket(1), side(bucket), segments_(segments), eviction_(std::move(eviction)) {
    Start();
  }

  // As a process that has just been started.
  void Start() {
    ++starts_;
    StoreOptions options;
    options.ram_bytes = 100'000;  // Four groups.
    options.eviction = "lru";
    options.epoch_us = 1'000'000'000;
    options.reads.patience = kTieredPatience;
    options.demoting_bytes_max = kTieredDemotingBytes;
    store = std::make_unique<Store>(options);
    AddDisk();
    AddBucket();
    Run();
  }
  void Restart() {
    store.reset();
    side.Abandon();
    device = device.AfterKill();
    Start();
  }

  void AddDisk() {
    DiskTierOptions like = DiskTierFixture(segments_).options;
    like.seed += starts_;
    std::unique_ptr<DiskPolicy> policy = std::make_unique<OldestFirst>();
    if (!eviction_.empty()) {
      DiskEvictionOptions wanted;
      wanted.eviction = eviction_;
      wanted.limits = {.bytes_max = like.bytes_max, .ghosts_max = 1000};
      policy = *DiskEviction::Of(wanted);
    }
    auto tier = std::make_unique<DiskTier>(like, std::move(policy));
    disk = tier.get();
    store->AddTier(TierKind::kDisk, std::move(tier));
  }
  void AddBucket() {
    BucketTierOptions like = BucketNode(bucket).options;
    like.queue_bytes_max = 200 << 10;
    like.seed += starts_;
    auto tier = std::make_unique<BucketTier>(like);
    remote = tier.get();
    store->AddTier(TierKind::kBucket, std::move(tier));
  }

  // All that can be done without waiting.
  void Run() {
    side.OnTime(now);
    for (bool more = true; more;) {
      more = false;
      for (DeviceRequest& request : disk->TakeRequests()) {
        device.Submit(std::move(request));
      }
      if (const auto completion = device.Next()) {
        disk->OnCompletion(*completion, now);
        more = true;
      }
      for (BucketRequest& request : remote->TakeRequests(now)) {
        side.Submit(std::move(request));
      }
      if (auto completion = side.Next()) {
        remote->OnCompletion(*std::move(completion), now);
        more = true;
      }
      store->OnTime(now);
      while (auto event = store->Next()) {
        more = true;
        if (const auto* done = std::get_if<StoreWritten>(&*event)) {
          written.emplace(done->ticket, *done);
        } else if (auto* read = std::get_if<StoreRead>(&*event)) {
          reads[read->ticket] = std::move(read->found);
        }
      }
    }
  }
  // Time passes, by what comes next.
  void Wait(Duration duration) {
    const Instant end = now + duration;
    while (now < end) {
      Instant next = end;
      for (const auto& due : {store->deadline(), side.deadline()}) {
        next = due && *due > now && *due < next ? *due : next;
      }
      now = next;
      Run();
    }
  }

  Object Make(Location at) const {
    Object object;
    object.location = at;
    object.payload = Bytes::Of(TieredPayload(at));
    return object;
  }
  // The tickets of a whole group.
  Result<std::vector<StoreTicket>> PutGroup(uint64_t group, Durability level) {
    std::vector<StoreTicket> tickets;
    for (uint64_t object = 0; object < kGroupObjects; ++object) {
      KVCAST_TRY(const Store::Kept kept,
                 store->Put(kBucketTrack, Make({group, object}), level, now));
      if (kept.ticket) {
        tickets.push_back(*kept.ticket);
      }
    }
    KVCAST_TRY(const Store::Asked ended,
               store->EndGroup(kBucketTrack, group, kGroupObjects, level, now));
    if (ended) {
      tickets.push_back(*ended);
    }
    return tickets;
  }
  // What is in memory is there at once; else no time passes if a disk has it.
  std::optional<std::string> PayloadNow(Location at) {
    const Store::Got got = store->Get(kBucketTrack, at, now);
    if (const auto* object = std::get_if<Object>(&got)) {
      return object->payload.ToString();
    }
    const auto* ticket = std::get_if<StoreTicket>(&got);
    if (ticket == nullptr) {
      return std::nullopt;
    }
    Run();
    const auto read = reads.find(*ticket);
    return read == reads.end() || !read->second
               ? std::nullopt
               : std::optional(read->second->object.payload.ToString());
  }
  // Every object of these groups, with the bytes that were put, or not at all.
  size_t Readable(uint64_t groups) {
    size_t readable = 0;
    for (uint64_t group = 0; group < groups; ++group) {
      for (uint64_t object = 0; object < kGroupObjects; ++object) {
        const auto payload = PayloadNow({group, object});
        EXPECT_EQ(payload.value_or(TieredPayload({group, object})), TieredPayload({group, object}));
        readable += payload ? 1u : 0u;
      }
    }
    return readable;
  }

  MemoryDevice device;
  MemoryBucket bucket;
  BucketSide side;
  Instant now{std::chrono::hours(1)};
  std::unique_ptr<Store> store;
  DiskTier* disk = nullptr;
  BucketTier* remote = nullptr;
  std::map<StoreTicket, StoreWritten> written;
  std::map<StoreTicket, std::optional<StoredObject>> reads;

 private:
  uint64_t segments_;
  std::string eviction_;
  uint64_t starts_ = 0;
};

}  // namespace kvcast
