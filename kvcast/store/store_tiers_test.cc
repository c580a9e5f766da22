// A store with a disk and a bucket below, on a device and a bucket in memory: what goes where, and
// what an outage does to the whole.
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <set>
#include <string>

#include "kvcast/store/bucket_tier_fixture_test.h"
#include "kvcast/store/disk_tier_fixture_test.h"
#include "kvcast/store/store.h"

namespace kvcast {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr uint64_t kGroupObjects = 2;
constexpr Duration kStorePatience = seconds(5);

std::string TieredPayload(Location at) {
  return std::string(10'000, static_cast<char>('a' + at.group % 26)) + at.ToString();
}

class TieredStore {
 public:
  explicit TieredStore(uint64_t segments) : device(7), bucket(1), side(bucket) {
    StoreOptions options;
    options.ram_bytes = 100'000;  // Four groups.
    options.eviction = "lru";
    options.epoch_us = 1'000'000'000;
    options.reads.patience = kStorePatience;
    store = std::make_unique<Store>(options);
    AddDisk(segments);
    AddBucket();
    Run();
  }

  void AddDisk(uint64_t segments) {
    const DiskTierOptions like = DiskTierFixture(segments).options;
    auto tier = std::make_unique<DiskTier>(like, std::make_unique<OldestFirst>());
    disk = tier.get();
    store->AddTier(TierKind::kDisk, std::move(tier));
  }
  void AddBucket() {
    BucketTierOptions like = BucketNode(bucket).options;
    like.queue_bytes_max = 200 << 10;
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
        readable += payload ? 1 : 0;
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
};

// From memory to the disk, and from there to the bucket: nothing is lost on the
// way, and a node that has the bucket alone finds what came there.
TEST(StoreTiers, WhatADiskEvictsGoesToTheBucket) {
  TieredStore tiered(/*segments=*/6);
  const uint64_t groups = 60;
  for (uint64_t group = 0; group < groups; ++group) {
    ASSERT_TRUE(tiered.PutGroup(group, Durability::kMemory).ok());
    tiered.Wait(seconds(2));
  }
  EXPECT_GT(tiered.disk->counts().segments_removed, 0u);
  EXPECT_GT(tiered.remote->index().object_count(), 0u);
  EXPECT_EQ(tiered.store->counts().not_demoted, 0u);
  EXPECT_EQ(tiered.Readable(groups), groups * kGroupObjects);

  BucketNode fresh(tiered.bucket, 2);
  fresh.Start();
  const auto listed = fresh.tier->Groups(std::nullopt, 1000);
  EXPECT_GT(listed.size(), 0u);
  for (const ListedGroup& group : listed) {
    EXPECT_TRUE(group.facts.whole()) << group.group;
    EXPECT_EQ(fresh.Payload(kBucketTrack, {group.group, 1}), TieredPayload({group.group, 1}));
    EXPECT_EQ(fresh.Get(kBucketTrack, {group.group, 1})->received_us,
              uint64_t{4'600'000'000} + 2'000'000 * group.group);
  }
}

// A bucket that several share may have it already.
TEST(StoreTiers, WhatTheBucketHasIsNotPutThereAgain) {
  TieredStore tiered(/*segments=*/6);
  for (uint64_t group = 0; group < 60; ++group) {
    ASSERT_TRUE(tiered.PutGroup(group, Durability::kDisk).ok());
    ASSERT_TRUE(tiered.PutGroup(group, Durability::kBucket).ok());
    tiered.Wait(seconds(2));
  }
  EXPECT_GT(tiered.disk->counts().segments_removed, 0u);
  EXPECT_EQ(tiered.store->counts().demoted, 0u);
}

// What the network, the server or the way there may do.
struct Outage {
  const char* name;
  BucketFaults faults;
};
class StoreOutage : public testing::TestWithParam<Outage> {};

TEST_P(StoreOutage, HitsGoOnMissesComeInTimeAndNothingAcknowledgedIsLost) {
  TieredStore tiered(/*segments=*/64);
  const auto in_bucket = tiered.PutGroup(0, Durability::kBucket);
  ASSERT_TRUE(in_bucket.ok());
  tiered.Wait(seconds(2));
  for (uint64_t group = 1; group < 10; ++group) {
    ASSERT_TRUE(tiered.PutGroup(group, Durability::kDisk).ok());
    tiered.Run();
  }
  ASSERT_EQ(tiered.store->ram().Look(kBucketTrack, {0, 0}), nullptr);
  ASSERT_EQ(tiered.store->ram().Look(kBucketTrack, {1, 0}), nullptr);
  ASSERT_NE(tiered.store->ram().Look(kBucketTrack, {9, 0}), nullptr);

  tiered.bucket.faults() = GetParam().faults;
  std::map<uint64_t, std::vector<StoreTicket>> pledged;
  uint64_t refused = 0;
  for (uint64_t turn = 0; turn < 40; ++turn) {
    // A hit in memory, a hit on disk, a durable put on disk: without waiting.
    EXPECT_EQ(tiered.PayloadNow({9, 0}), TieredPayload({9, 0}));
    EXPECT_EQ(tiered.PayloadNow({1 + turn % 8, 1}), TieredPayload({1 + turn % 8, 1}));
    if (turn < 10) {
      const auto on_disk = tiered.PutGroup(100 + turn, Durability::kDisk);
      ASSERT_TRUE(on_disk.ok()) << on_disk.error().ToString();
      tiered.Run();
      for (const StoreTicket ticket : *on_disk) {
        ASSERT_TRUE(tiered.written.contains(ticket));
        EXPECT_FALSE(tiered.written.at(ticket).error.has_value());
      }
    }
    // A miss within its deadline.
    const Store::Got got = tiered.store->Get(kBucketTrack, {0, turn % 2}, tiered.now);
    if (const auto* ticket = std::get_if<StoreTicket>(&got)) {
      const StoreTicket asked = *ticket;
      tiered.Run();
      tiered.Wait(milliseconds(200));
      ASSERT_TRUE(tiered.reads.contains(asked)) << turn;
    }
    // What is to be in the bucket queues, and is refused beyond a bound.
    const auto waits = tiered.PutGroup(200 + turn, Durability::kBucket);
    if (waits.ok()) {
      pledged[200 + turn] = *waits;
    } else {
      EXPECT_EQ(waits.error().code(), ErrorCode::kTooLarge) << waits.error().ToString();
      ++refused;
    }
    EXPECT_LE(tiered.remote->queued_bytes(), (200u << 10) + 20'000u);
    tiered.Wait(milliseconds(300));
  }
  EXPECT_GT(refused, 0u);

  tiered.bucket.faults() = {};
  tiered.Wait(std::chrono::minutes(3));
  // All that was taken has come to an end, one way or the other; and who was
  // told that it is there is right.
  BucketNode fresh(tiered.bucket, 2);
  fresh.Start();
  uint64_t reached = 0;
  for (const auto& [group, tickets] : pledged) {
    bool acknowledged = true;
    for (const StoreTicket ticket : tickets) {
      ASSERT_TRUE(tiered.written.contains(ticket));
      const StoreWritten& written = tiered.written.at(ticket);
      acknowledged = acknowledged && !written.error;
      EXPECT_TRUE(written.error || written.level == Durability::kBucket);
    }
    if (acknowledged) {
      ++reached;
      ASSERT_TRUE(fresh.tier->FindGroup(kBucketTrack, group).has_value()) << group;
      EXPECT_TRUE(fresh.tier->FindGroup(kBucketTrack, group)->whole());
      EXPECT_EQ(fresh.Payload(kBucketTrack, {group, 1}), TieredPayload({group, 1}));
    }
  }
  EXPECT_GT(reached, 0u);
  EXPECT_EQ(tiered.PayloadNow({0, 1}), TieredPayload({0, 1}));  // It is back.
}

INSTANTIATE_TEST_SUITE_P(All, StoreOutage,
                         testing::Values(Outage{"refused", {.refuse = 1}},
                                         Outage{"throttled", {.throttle = 1}},
                                         Outage{"hanging", {.dead = true}},
                                         Outage{"failing", {.other = 1}},
                                         Outage{"lost", {.lost_reply = 1}}),
                         [](const auto& info) { return std::string(info.param.name); });

// What waits for a bucket that is out must not keep anything from a disk.
TEST(StoreTiers, ABucketThatIsOutDoesNotKeepMemoryFromTheDisk) {
  TieredStore tiered(/*segments=*/64);
  tiered.bucket.faults().dead = true;
  while (tiered.PutGroup(1000 + tiered.remote->queued_bytes(), Durability::kBucket).ok()) {
    tiered.Run();
  }
  EXPECT_EQ(tiered.store->pledged_bytes(Durability::kDisk), 0u);
  EXPECT_GT(tiered.store->pledged_bytes(Durability::kBucket), 0u);
  for (uint64_t group = 0; group < 40; ++group) {
    ASSERT_TRUE(tiered.PutGroup(group, Durability::kMemory).ok());
    tiered.Run();
  }
  EXPECT_EQ(tiered.Readable(40), 40 * kGroupObjects);
}

}  // namespace
}  // namespace kvcast
