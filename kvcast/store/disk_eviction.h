#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <unordered_map>

#include "kvcast/store/counted_allocator.h"
#include "kvcast/store/disk_policy.h"
#include "kvcast/store/eviction.h"

namespace kvcast {

// Lets an Eviction decide what a full disk gives up.
//
// It is asked for victims until some segment holds so little else that this can be moved; that
// segment goes. Victims that lie in other segments are condemned only: they cost nothing until
// their own segment goes, and are there for whoever asks, who thereby reprieves them.
class DiskEviction final : public DiskPolicy {
 public:
  // `seed` keys the handles by which the eviction knows groups: random, and nobody else's business.
  DiskEviction(std::unique_ptr<Eviction> eviction, uint64_t seed);

  uint32_t Victim(std::span<const SegmentView> segments, const DiskIndex& index) override;
  bool Keep(const TrackName& track, uint64_t group, bool used) override;
  bool listens() const override { return true; }
  void OnStored(const TrackName& track, uint64_t group, const std::optional<Digest>& key,
                uint64_t bytes) override;
  void OnUsed(const TrackName& track, uint64_t group, uint64_t object) override;
  void OnGone(const TrackName& track, uint64_t group) override;
  void OnTrackGone(const TrackName& track) override;
  size_t bytes() const override { return sizeof(*this) + bytes_ + eviction_->bytes(); }

  size_t condemned_count() const { return condemned_count_; }

 private:
  struct Held {
    StoredGroup group;
    std::optional<uint64_t> last_object;  // That was read.
    bool condemned = false;
  };
  using Groups =
      std::map<uint64_t, Held, std::less<>, CountedAllocator<std::pair<const uint64_t, Held>>>;
  struct Track {
    explicit Track(size_t* counter)
        : groups(CountedAllocator<std::pair<const uint64_t, Held>>(counter)) {}
    uint64_t handle = 0;
    Groups groups;
  };
  using Tracks =
      std::map<TrackName, Track, std::less<>, CountedAllocator<std::pair<const TrackName, Track>>>;
  struct Owner {
    const TrackName* track = nullptr;
    uint64_t group = 0;
  };

  uint64_t HandleOf(std::span<const std::byte> what, std::string_view name) const;
  Track& TrackFor(const TrackName& name);
  Held* Find(const TrackName& track, uint64_t group);
  void Condemn(uint64_t handle);
  void Reprieve(Held& held);
  void Drop(Tracks::iterator track, Groups::iterator group);

  std::unique_ptr<Eviction> eviction_;
  uint64_t seed_;
  size_t bytes_ = 0;
  Tracks tracks_{CountedAllocator<std::pair<const TrackName, Track>>(&bytes_)};
  std::unordered_map<uint64_t, Owner, std::hash<uint64_t>, std::equal_to<>,
                     CountedAllocator<std::pair<const uint64_t, Owner>>>
      owners_{CountedAllocator<std::pair<const uint64_t, Owner>>(&bytes_)};
  size_t condemned_count_ = 0;
};

}  // namespace kvcast
