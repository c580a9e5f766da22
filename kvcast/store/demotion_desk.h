#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "kvcast/base/time.h"
#include "kvcast/store/handle_key.h"
#include "kvcast/store/ram_tier.h"
#include "kvcast/store/tier_set.h"

namespace kvcast {

// Groups on their way from one tier to another below it, from which they are served until they are
// there.
//
// Bounded in bytes for each tier, or to one group: while too much is on its way to one, the next is
// tried, and what none takes goes for good. A demotion is not a promise to anybody.
//
// What a bucket has goes to disks alone, which have it nearer, and takes half of that at most, and
// of a disk only what nothing has to make room for that no other tier has.
class DemotionDesk {
 public:
  // The tiers must outlive this. `secret` keys the handles by which admissions know groups.
  DemotionDesk(uint64_t bytes_max, uint64_t secret, TierSet& tiers)
      : bytes_max_(bytes_max), handles_(secret), tiers_(&tiers) {}

  struct Leaving {
    EvictedContents contents;
    TrackFacts facts;      // Of the track.
    bool is_copy = false;  // A bucket has it.
  };
  // To a tier of this kind, or of one further down. False: none admits it, or takes it now.
  // REQUIRES: it is a whole group.
  bool Take(const Leaving& leaving, TierKind kind, Instant now);
  // False: not a write of this desk's.
  bool OnWritten(size_t tier, const TierWritten& written, Instant now);
  // Groups that have arrived or failed since the last call.
  std::vector<EvictedGroup> TakeFinished() { return std::exchange(finished_, {}); }
  void Drop(const TrackName& track, uint64_t group);

  const Object* Find(const TrackName& track, Location location) const;
  std::optional<GroupFacts> FindGroup(const TrackName& track, uint64_t group) const;
  std::optional<uint64_t> GroupFrom(const TrackName& track, uint64_t group) const;
  std::optional<uint64_t> GroupUpTo(const TrackName& track, uint64_t group) const;
  std::optional<uint64_t> ObjectFrom(const TrackName& track, Location location) const;
  // The last of those of its group that do not exist from there on: what goes is whole.
  std::optional<uint64_t> AbsentUpTo(const TrackName& track, Location location) const;

  uint64_t bytes() const;
  uint64_t taken() const { return taken_; }
  uint64_t refused() const { return refused_; }
  uint64_t failed() const { return failed_; }

 private:
  struct Group {
    std::map<uint64_t, Object> objects;
    std::deque<StoredObject> unasked;  // Of these, what the tier has not taken yet,
    bool end_asked = false;            // and whether it has taken the end.
    uint64_t end = 0;
    uint64_t payload_bytes = 0;
    uint64_t bytes = 0;  // That it took in RAM, with its index.
    size_t tier = 0;     // To which it goes.
    size_t waiting = 0;  // Writes under way.
    bool failed = false;
  };
  using Groups = std::map<uint64_t, Group>;

  bool Admits(size_t tier, const EvictedContents& contents);
  // In the order in which they are tried: disks as of any put, so that all of them are used.
  std::vector<size_t> HomesOf(const Leaving& leaving, TierKind kind) const;
  bool HasRoom(size_t tier, const Leaving& leaving, Instant now);
  // False: the tier does not take it.
  bool Begin(const Leaving& leaving, Group& group, Instant now);
  // Asks for as much of it as the tier takes at a time: the rest follows what is written. False: it
  // takes nothing, and nothing is under way.
  bool Ask(const EvictedGroup& name, Group& group, Instant now);
  bool Note(const EvictedGroup& name, Group& group, const Result<TierTicket>& ticket);
  const Groups* Find(const TrackName& track) const;
  const Group* FindIn(const TrackName& track, uint64_t group) const;
  void Erase(const TrackName& track, uint64_t group);

  uint64_t bytes_max_;
  HandleKey handles_;
  TierSet* tiers_;
  std::map<TrackName, Groups> tracks_;
  std::map<std::pair<size_t, TierTicket>, EvictedGroup> writes_;
  std::vector<EvictedGroup> finished_;
  std::map<size_t, uint64_t> bytes_;  // By tier.
  uint64_t taken_ = 0;
  uint64_t refused_ = 0;
  uint64_t failed_ = 0;
};

}  // namespace kvcast
