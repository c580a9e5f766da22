#pragma once

#include <array>
#include <list>
#include <map>
#include <set>
#include <tuple>

#include "kvcast/store/eviction.h"
#include "kvcast/store/handle_map.h"
#include "kvcast/store/reuse_table.h"

namespace kvcast {

// Ours: the group goes that is worth least, by what the tier has learnt of groups like it, and a
// track goes from its end (docs/design/eviction.md says why).
//
// - What a group is worth depends on how often it was used and how long ago (ReuseTable). It
//   is learnt from all groups that come back, those that were evicted among them: so ghosts stand
//   for sixteen times the bytes of the tier. Nothing is known at first, which makes it LRU.
// - Of each track, only the last of the groups that are here (and not pinned) is ever a victim,
// since
//   a prefix is useless without its beginning. Among groups worth the same, the one with the higher
//   number goes first, across tracks.
//
// Time is counted in bytes used. Ages are brought up to date each 128th of the tier, so that a
// hit costs a look at one entry and no more.
class PrefixEviction final : public Eviction {
 public:
  explicit PrefixEviction(const EvictionLimits& limits);

  void Insert(const StoredGroup& group) override;
  void Hit(uint64_t handle) override;
  void Resize(uint64_t handle, uint64_t bytes) override { Held(handle).group.bytes = bytes; }
  void Pin(uint64_t handle) override;
  void Unpin(uint64_t handle) override;
  void Evict(uint64_t handle) override;
  void Forget(uint64_t handle) override;
  std::optional<uint64_t> Victim() override;
  size_t bytes() const override { return sizeof(*this) + bytes_; }
  size_t ghost_count() const override { return ghosts_.size(); }

 private:
  struct Entry;
  using Entries = std::list<Entry*, CountedAllocator<Entry*>>;
  struct Entry {
    StoredGroup group;
    uint64_t uses = 1;
    uint64_t used_at = 0;
    bool last = false;  // Of its track, when it came.
    bool held = true;   // A ghost otherwise.
    bool pinned = false;
    bool candidate = false;
    uint16_t cell = 0;
    Entries::iterator place;  // In its cell.
    Entries::iterator ghost;  // Among ghosts, if it is one.
  };
  // Cell, depth from the end, time of the last use, handle.
  using Candidate = std::tuple<uint16_t, uint64_t, uint64_t, uint64_t>;
  using TrackPlace = std::tuple<uint64_t, uint64_t, uint64_t>;  // Track, group, handle.
  template <typename Value>
  using Sorted = std::map<TrackPlace, Value, std::less<TrackPlace>,
                          CountedAllocator<std::pair<const TrackPlace, Value>>>;

  Entry& Held(uint64_t handle);
  static Candidate CandidateOf(const Entry& entry);
  static TrackPlace PlaceOf(const Entry& entry);
  // The group before it in its track that could be evicted; null if there is none.
  Entry* Before(const Entry& entry);
  bool NothingAfter(const Entry& entry) const;

  bool IsLast(const StoredGroup& group);
  void Use(Entry& entry);
  void Enter(Entry& entry, size_t age);
  void MoveTo(Entry& entry, uint16_t cell);
  void Offer(Entry& entry);
  void Withdraw(Entry& entry);
  void LeaveTrack(Entry& entry);
  void JoinTrack(Entry& entry);
  void Drop(Entry& entry);
  void Pass(uint64_t bytes);
  void GrowOlder();

  EvictionLimits limits_;
  size_t bytes_ = 0;
  uint64_t now_ = 0;
  uint64_t turn_at_ = 0;
  uint64_t learn_at_ = 0;
  uint64_t ghost_group_bytes_ = 0;
  ReuseTable table_;
  HandleMap<Entry> entries_;
  std::array<Entries, ReuseTable::kCells> cells_;  // In the order of their use.
  Entries ghosts_;                                 // In the order of their eviction.
  Sorted<Entry*> tracks_;                          // What could be evicted.
  std::set<Candidate, std::less<Candidate>, CountedAllocator<Candidate>> candidates_;
  std::array<size_t, ReuseTable::kCells> candidate_counts_{};
  // The end of the track that came last: its groups may come from the end.
  uint64_t newest_track_ = 0;
  std::optional<uint64_t> newest_end_;
};

}  // namespace kvcast
