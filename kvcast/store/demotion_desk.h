#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "kvcast/base/time.h"
#include "kvcast/store/ram_tier.h"
#include "kvcast/store/tier_set.h"

namespace kvcast {

// Groups on their way from RAM to a tier below, from which they are served until they are there.
//
// Bounded in bytes, or to one group: while too much is on its way, what RAM evicts goes for good,
// as it does when no tier takes it. A demotion is not a promise to anybody.
class DemotionDesk {
 public:
  // The tiers must outlive this. `key_property`: where a group's first object says which block it
  // is.
  DemotionDesk(uint64_t bytes_max, uint64_t key_property, TierSet& tiers)
      : bytes_max_(bytes_max), key_property_(key_property), tiers_(&tiers) {}

  struct Leaving {
    EvictedContents contents;
    std::vector<uint64_t> received_us;  // Of each object.
    TrackFacts facts;                   // Of the track.
  };
  // False: no tier admits it, or takes it now. REQUIRES: it is a whole group.
  bool Take(const Leaving& leaving, Instant now);
  // False: not a write of this desk's.
  bool OnWritten(size_t tier, const TierWritten& written);
  // Groups that have arrived or failed since the last call.
  std::vector<EvictedGroup> TakeFinished() { return std::exchange(finished_, {}); }
  void Drop(const TrackName& track, uint64_t group);

  const Object* Find(const TrackName& track, Location location) const;
  std::optional<GroupFacts> FindGroup(const TrackName& track, uint64_t group) const;
  std::optional<uint64_t> GroupFrom(const TrackName& track, uint64_t group) const;
  std::optional<uint64_t> GroupUpTo(const TrackName& track, uint64_t group) const;
  std::optional<uint64_t> ObjectFrom(const TrackName& track, Location location) const;

  uint64_t bytes() const { return bytes_; }
  uint64_t taken() const { return taken_; }
  uint64_t refused() const { return refused_; }
  uint64_t failed() const { return failed_; }

 private:
  struct Group {
    std::map<uint64_t, Object> objects;
    uint64_t payload_bytes = 0;
    size_t waiting = 0;  // Writes under way.
    bool failed = false;
  };
  using Groups = std::map<uint64_t, Group>;

  StoredGroup AsStored(const EvictedContents& contents, uint64_t bytes) const;
  // How many writes are under way for it; absent if the tier does not take it all.
  std::optional<size_t> Write(size_t tier, const Leaving& leaving, Instant now);
  const Groups* Find(const TrackName& track) const;
  const Group* FindIn(const TrackName& track, uint64_t group) const;
  void Erase(const TrackName& track, uint64_t group);

  uint64_t bytes_max_;
  uint64_t key_property_;
  TierSet* tiers_;
  std::map<TrackName, Groups> tracks_;
  std::map<std::pair<size_t, TierTicket>, EvictedGroup> writes_;
  std::vector<EvictedGroup> finished_;
  uint64_t bytes_ = 0;
  uint64_t taken_ = 0;
  uint64_t refused_ = 0;
  uint64_t failed_ = 0;
};

}  // namespace kvcast
