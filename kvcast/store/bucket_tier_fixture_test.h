#pragma once

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "kvcast/store/bucket_tier.h"
#include "kvcast/store/memory_bucket.h"

namespace kvcast {

inline TrackName BucketTrack(std::string_view name) {
  return *TrackName::Of(*TrackNamespace::Of({"service", "tenant/model", "prefix"}), name);
}

inline const TrackName kBucketTrack = BucketTrack("BF16");

inline Object BucketObject(Location location, std::string_view payload) {
  Object object;
  object.location = location;
  object.payload = Bytes::Of(payload);
  return object;
}

// A bucket tier of one node on a bucket in memory. Packs are small, so that a handful of objects
// fills one.
class BucketNode {
 public:
  static constexpr uint64_t kPackBytes = 64 << 10;
  static constexpr uint64_t kKeyProperty = 0x3801;

  explicit BucketNode(MemoryBucket& shared, uint8_t node = 1) : bucket(shared), side(shared) {
    options.prefix = "kvcast";
    options.node.bytes.fill(std::byte{node});
    options.seed = node;
    options.key_property = kKeyProperty;
    options.pack_bytes = kPackBytes;
  }

  // As a machine that has just been started: nothing is known.
  void Start() {
    ++options.seed;
    side = BucketSide(bucket);
    tier = std::make_unique<BucketTier>(options, Log(&log, "store"));
    written.clear();
    failed.clear();
    Run();
  }

  // All that can be done without waiting.
  void Run() {
    side.OnTime(now);
    while (Step()) {
    }
  }
  bool Step() {
    for (BucketRequest& request : tier->TakeRequests(now)) {
      EXPECT_GE(request.deadline, now);
      side.Submit(std::move(request));
    }
    auto completion = side.Next();
    const bool stepped = completion.has_value();
    if (stepped) {
      tier->OnCompletion(*std::move(completion), now);
    }
    TakeEvents();
    return stepped;
  }
  // Time passes, by what comes next.
  void Wait(Duration duration) {
    const Instant end = now + duration;
    while (now < end) {
      Instant next = end;
      for (const auto& due : {tier->deadline(), side.deadline()}) {
        next = due && *due > now && *due < next ? *due : next;
      }
      now = next;
      side.OnTime(now);
      tier->OnTime(now);
      Run();
    }
  }

  // In the bucket, or the error.
  Result<void> Put(const TrackName& track, const Object& object) {
    return Settle(tier->Put(track, object, 17, now));
  }
  Result<void> Settle(const Result<TierTicket>& ticket) {
    if (!ticket.ok()) {
      return ticket.error();
    }
    tier->Flush(now);
    Run();
    for (int i = 0; i < 200 && !written.contains(*ticket) && !failed.contains(*ticket); ++i) {
      Wait(std::chrono::seconds(1));
    }
    const auto error = failed.find(*ticket);
    if (error != failed.end()) {
      return error->second;
    }
    EXPECT_TRUE(written.contains(*ticket)) << "nothing was said of ticket " << *ticket;
    return {};
  }
  std::optional<StoredObject> Get(const TrackName& track, Location location) {
    const auto ticket = tier->Get(track, location, now);
    if (!ticket) {
      return std::nullopt;
    }
    Run();
    if (!reads.contains(*ticket)) {
      Wait(options.get_patience);
    }
    return reads.at(*ticket);
  }
  std::optional<std::string> Payload(const TrackName& track, Location location) {
    const auto found = Get(track, location);
    return found ? std::optional(found->object.payload.ToString()) : std::nullopt;
  }

  void TakeEvents() {
    while (auto event = tier->Next()) {
      if (auto* done = std::get_if<TierWritten>(&*event)) {
        if (done->error) {
          failed.emplace(done->ticket, *done->error);
        } else {
          written.insert(done->ticket);
        }
      } else if (auto* read = std::get_if<TierRead>(&*event)) {
        EXPECT_FALSE(reads.contains(read->ticket)) << "answered twice";
        reads[read->ticket] = std::move(read->found);
      } else if (auto* came = std::get_if<TierArrived>(&*event)) {
        arrived.push_back(std::move(came->group));
      } else if (auto* gone = std::get_if<TierEvicted>(&*event)) {
        evicted.push_back(std::move(gone->group));
      }
    }
  }

  BucketTierOptions options;
  MemoryBucket& bucket;
  BucketSide side;
  LogMemory log;
  std::unique_ptr<BucketTier> tier;
  Instant now{std::chrono::hours(1)};
  std::set<TierTicket> written;
  std::map<TierTicket, Error> failed;
  std::map<TierTicket, std::optional<StoredObject>> reads;
  std::vector<EvictedGroup> evicted;
  std::vector<ListedGroup> arrived;
};

}  // namespace kvcast
