#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "kvcast/store/disk_tier.h"
#include "kvcast/store/memory_device.h"

namespace kvcast {

inline TrackName DiskTrack(std::string_view name) {
  return *TrackName::Of(*TrackNamespace::Of({"service", "tenant/model", "prefix"}), name);
}

inline Object DiskObject(Location location, std::string_view payload) {
  Object object;
  object.location = location;
  object.payload = Bytes::Of(payload);
  return object;
}

// A disk tier on a device in memory, driven until nothing is left to do. Segments are as small as
// they may be, so that a handful of objects fills one.
class DiskTierFixture {
 public:
  static constexpr uint64_t kSegmentBytes = 64 << 10;
  static constexpr uint64_t kKeyProperty = 0x3801;

  explicit DiskTierFixture(uint64_t segments = 8) : device(7) {
    options.bytes_max = kSuperblockBytes + segments * kSegmentBytes;
    options.segment_bytes = kSegmentBytes;
    options.key_property = kKeyProperty;
    options.fresh.bytes.fill(std::byte{0x5a});
    options.seed = 1;
  }

  void Start() {
    ++options.seed;  // As a machine draws another one.
    tier = std::make_unique<DiskTier>(options, std::make_unique<OldestFirst>());
    written.clear();
    failed.clear();
    Run();
  }

  // One step of the device; false if it has nothing to do.
  bool Step() {
    for (DeviceRequest& request : tier->TakeRequests()) {
      device.Submit(std::move(request));
    }
    const auto completion = device.Next();
    if (completion) {
      tier->OnCompletion(*completion, now);
      most_allocated = std::max(most_allocated, tier->allocated_bytes());
    }
    TakeEvents();
    return completion.has_value();
  }
  void Run() {
    while (Step()) {
    }
  }
  void Wait(Duration duration) {
    now += duration;
    tier->OnTime(now);
    Run();
  }

  // Durable, or the error.
  Result<void> Put(const TrackName& track, const Object& object, uint64_t received_us = 17) {
    const auto ticket = tier->Put(track, object, received_us, now);
    if (!ticket.ok()) {
      return ticket.error();
    }
    Run();
    return Outcome(*ticket);
  }
  Result<void> Outcome(TierTicket ticket) {
    const auto error = failed.find(ticket);
    if (error != failed.end()) {
      return error->second;
    }
    EXPECT_TRUE(written.contains(ticket)) << "nothing was said of ticket " << ticket;
    return {};
  }
  std::optional<StoredObject> Get(const TrackName& track, Location location) {
    const auto ticket = tier->Get(track, location, now);
    if (!ticket) {
      return std::nullopt;
    }
    Run();
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
        reads[read->ticket] = std::move(read->found);
      } else if (auto* gone = std::get_if<TierEvicted>(&*event)) {
        evicted.push_back(gone->group);
        if (gone->contents) {
          handed_over.insert_or_assign(gone->group.group, *std::move(gone->contents));
        }
      }
    }
  }

  DiskTierOptions options;
  MemoryDevice device;
  std::unique_ptr<DiskTier> tier;
  Instant now{std::chrono::hours(1)};
  uint64_t most_allocated = 0;
  std::set<TierTicket> written;
  std::map<TierTicket, Error> failed;
  std::map<TierTicket, std::optional<StoredObject>> reads;
  std::vector<EvictedGroup> evicted;
  std::map<uint64_t, EvictedContents> handed_over;  // By group.
};

// A disk on whose way some requests fail, and some are kept back until they are let go.
class DrainedDisk : public DiskTierFixture {
 public:
  using DiskTierFixture::DiskTierFixture;

  void StartDrained() {
    device = device.AfterKill();
    ++options.seed;
    tier = std::make_unique<DiskTier>(options, std::make_unique<OldestFirst>());
    RunDrained();
  }
  void RunDrained() {
    for (bool more = true; more;) {
      more = false;
      for (DeviceRequest& request : tier->TakeRequests()) {
        more = true;
        if (fails && fails(request)) {
          failing.push_back(request.token);
        } else if (keeps_back && keeps_back(request)) {
          kept.push_back(std::move(request));
        } else {
          device.Submit(std::move(request));
        }
      }
      more = Step() || more;
      if (!more && !failing.empty()) {
        tier->OnCompletion({.token = failing.front(), .error = DeviceError{false, "bad"}}, now);
        failing.erase(failing.begin());
        more = true;
      }
    }
  }
  void WaitDrained(int count, Duration each) {
    for (int i = 0; i < count; ++i) {
      now += each;
      tier->OnTime(now);
      RunDrained();
    }
  }
  void LetGo() {
    keeps_back = nullptr;
    for (DeviceRequest& request : std::exchange(kept, {})) {
      device.Submit(std::move(request));
    }
    RunDrained();
  }
  int Acknowledged(const TrackName& track, uint64_t count) {
    int acknowledged = 0;
    for (uint64_t group = 0; group < count; ++group) {
      const auto ticket = tier->Put(track, DiskObject({group, 0}, std::string(5000, 'y')), 1, now);
      RunDrained();
      acknowledged += ticket.ok() && written.contains(*ticket) ? 1 : 0;
    }
    return acknowledged;
  }

  std::function<bool(const DeviceRequest&)> fails;
  std::function<bool(const DeviceRequest&)> keeps_back;
  std::vector<DeviceToken> failing;
  std::vector<DeviceRequest> kept;
};

}  // namespace kvcast
