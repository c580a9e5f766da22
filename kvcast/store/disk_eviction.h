#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "kvcast/base/result.h"
#include "kvcast/store/counted_allocator.h"
#include "kvcast/store/disk_index.h"
#include "kvcast/store/disk_policy.h"
#include "kvcast/store/eviction.h"
#include "kvcast/store/group_handles.h"
#include "kvcast/store/segment_tally.h"

namespace kvcast {

struct DiskEvictionOptions {
  std::string eviction = "default";  // One of EvictionNames().
  EvictionLimits limits;
  uint64_t secret = 0;                             // Keys the handles by which groups are known.
  std::map<std::string, uint64_t> reservations{};  // Bytes of records by tenant.
};

// Lets an Eviction decide what a full disk gives up.
//
// It is asked for victims until some segment holds so little else that this can be moved; that
// segment goes. Victims that lie in other segments are condemned only: they cost nothing until
// their own segment goes, and are there for whoever asks, who thereby reprieves them.
//
// Each tenant with reserved bytes has an eviction of its own; all others share one. Victims are
// taken from whoever has most beyond its reservation, never from one that would fall below it; and
// what is reserved is moved when its segment goes, however much that is. So reservations may be
// half of the disk at most: a segment that goes must bring more room than it costs.
//
// What a bucket has, too, is spare: it goes before anything else of a pool, the cheapest first.
// Where that alone brings a segment a quarter of its room, all else in it is moved, however much it
// is: nothing that only the disk has goes for the sake of what need not be here.
class DiskEviction final : public DiskPolicy {
 public:
  // Invalid: no policy of this name, or more than half of the disk is reserved.
  static Result<std::unique_ptr<DiskEviction>> Of(const DiskEvictionOptions& options);

  std::optional<uint32_t> Victim(std::span<const SegmentView> segments,
                                 const DiskIndex& index) override;
  void CondemnSome(size_t groups, const DiskIndex& index) override;
  bool Keep(const TrackName& track, uint64_t group, bool used) override;
  bool Owes(const TrackName& track, uint64_t group) const override;
  uint64_t MovedMax(uint32_t segment, uint64_t segment_bytes) const override;
  void OnSpare(const TrackName& track, uint64_t group, bool spare, const DiskIndex& index) override;
  bool IsSpare(const TrackName& track, uint64_t group) const override;
  uint64_t SpareRoom(std::span<const SegmentView> segments) const override;
  bool listens() const override { return true; }
  void OnStored(const TrackName& track, uint64_t group, const std::optional<Digest>& key,
                uint64_t bytes) override;
  void OnMoved(const TrackName& track, uint64_t group, uint32_t from,
               const SegmentShare& to) override;
  void OnUsed(const TrackName& track, uint64_t group, uint64_t object) override;
  void OnGone(const TrackName& track, uint64_t group) override;
  void OnTrackGone(const TrackName& track) override;
  size_t bytes() const override;

  size_t condemned_count() const { return condemned_.size(); }
  // How many groups Victim() had to look at, in all, beside those that it condemned.
  uint64_t walked_count() const { return walked_; }
  // What is here, and not condemned, of a tenant with a reservation; of any other, of all without.
  uint64_t tenant_bytes(std::string_view tenant) const;

 private:
  // The groups of one tenant that has bytes reserved, or of all others.
  struct Pool {
    uint64_t reserved = 0;
    uint64_t bytes = 0;                  // Of groups that are not condemned.
    std::unique_ptr<Eviction> eviction;  // Of what only the disk has,
    std::unique_ptr<Eviction> spare;     // and of the others.

    uint64_t beyond() const { return bytes > reserved ? bytes - reserved : 0; }
  };
  struct Held {
    StoredGroup group;
    std::optional<uint64_t> last_object;  // That was read.
    bool condemned = false;
    bool spare = false;
  };
  using Groups =
      std::map<uint64_t, Held, std::less<>, CountedAllocator<std::pair<const uint64_t, Held>>>;
  struct Track {
    explicit Track(size_t* counter)
        : groups(CountedAllocator<std::pair<const uint64_t, Held>>(counter)) {}
    uint64_t handle = 0;
    Pool* pool = nullptr;
    Groups groups;
  };
  using Tracks =
      std::map<TrackName, Track, std::less<>, CountedAllocator<std::pair<const TrackName, Track>>>;
  struct Owner {
    const TrackName* track = nullptr;
    uint64_t group = 0;
  };

  // What of a segment nobody has condemned, and how much of it may be moved: at the most three
  // quarters, since moving a segment that is all reserved would bring nothing, again and again.
  struct Room {
    uint64_t wanted = 0;
    uint64_t moved_max = 0;
    uint64_t most = 0;
    uint64_t owed = 0;  // Reserved, or no object: moved, however much that is.
  };
  using Rooms = std::map<uint32_t, Room>;

  explicit DiskEviction(uint64_t secret) : handles_(secret) {}
  Tracks::iterator TrackFor(const TrackName& name);
  // Absent: null.
  Track* FindTrack(const TrackName& track);
  static Held* FindIn(Track* track, uint64_t group);
  const Held* Find(const TrackName& track, uint64_t group) const;
  static Eviction& EvictionOf(const Pool& pool, const Held& held) {
    return held.spare ? *pool.spare : *pool.eviction;
  }
  void Insert(Pool& pool, const Held& held);
  void Condemn(uint64_t handle, const DiskIndex& index);
  void Reprieve(Pool& pool, Held& held);
  // It is spare no more: if it was condemned, it need not go.
  void KeepAgain(Pool& pool, Held& held);
  // It is neither condemned nor spare any more.
  void ForgetShares(uint64_t handle);
  // The next to be condemned, of what is spare or else of the rest; absent if nobody may be.
  std::optional<uint64_t> NextVictim();
  std::optional<uint64_t> NextOf(std::unique_ptr<Eviction> Pool::*which);
  static bool IsOwed(const Track& track, const Held& held);
  Rooms RoomsOf(std::span<const SegmentView> segments, const DiskIndex& index);
  // One of which a quarter was spare, and little enough is left to be moved.
  std::optional<uint32_t> SparedOf(const Rooms& rooms) const;
  void Drop(Tracks::iterator track, Groups::iterator group);

  size_t bytes_ = 0;
  std::map<std::string, Pool, std::less<>> pools_;
  Pool* common_ = nullptr;  // Of everybody without a reservation.
  Tracks tracks_{CountedAllocator<std::pair<const TrackName, Track>>(&bytes_)};
  GroupHandles<Owner> handles_;
  SegmentTally condemned_;
  SegmentTally spares_;  // Of those without a reservation, condemned or not.
  std::optional<uint32_t>
      spared_;  // The segment that goes, and all but what is condemned is moved.
  uint64_t walked_ = 0;
};

}  // namespace kvcast
