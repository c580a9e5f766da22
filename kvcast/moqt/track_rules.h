#pragma once

#include <cstdint>
#include <map>
#include <optional>

#include "kvcast/moqt/fault.h"
#include "kvcast/moqt/id_runs.h"
#include "kvcast/moqt/object_ways.h"
#include "kvcast/moqt/prior_gaps.h"
#include "kvcast/object/object.h"

namespace kvcast::moqt {

// What a subscribed track has said of itself so far, to notice when it contradicts itself: an
// object beyond the end of its subgroup, group or track, or within a gap; a gap over an object; two
// priorities in one subgroup; an object again in another subgroup or alone. Then the track is
// malformed. The end of a group or track is an object as well.
//
// Bounded: it remembers the groups with the largest ids and so many things of each, or less where
// it is told to forget, and notices nothing of what it has forgotten. The payloads of objects that
// come twice are for whoever keeps them to compare.
class TrackRules {
 public:
  // `gaps` is what the object says; `ends_group`: no object of its group stands beyond it.
  Decoded<void> OnObject(const Object& object, const PriorGaps& gaps, bool ends_group);
  // A subgroup's stream ended well, with this as its last object.
  Decoded<void> OnSubgroupEnd(uint64_t group, uint64_t subgroup, uint64_t last, bool ends_group);

  // About what it takes in memory.
  size_t bytes() const;
  // Forgets the group with the smallest id, or, if it knows of none, which there were. False if
  // there is nothing to forget.
  bool ForgetSome();

 private:
  struct Subgroup {
    std::optional<uint8_t> priority;
    std::optional<uint64_t> last;  // Its final object.
  };
  struct Group {
    IdRuns seen{kRunsMax};
    ObjectWays ways{kRunsMax};
    IdRuns missing{kRunsMax};
    std::optional<uint64_t> gap_before;  // In groups.
    std::optional<uint64_t> end;         // The first id that does not exist.
    std::map<uint64_t, Subgroup> subgroups;
    size_t bytes = 0;  // As counted.
  };
  static constexpr size_t kRunsMax = 64;
  static constexpr size_t kGroupsMax = 64;
  static constexpr size_t kSubgroupsMax = 64;

  Group& GroupAt(uint64_t group);
  void Forget(std::map<uint64_t, Group>::iterator group);
  void Count(Group& group);
  Decoded<void> Check(const Object& object, const PriorGaps& gaps, bool ends_group, Group& group);
  Decoded<void> CheckPlace(const Object& object, const Group& group) const;
  Decoded<void> CheckSubgroup(const Object& object, Group& group);
  Decoded<void> CheckGaps(Location at, const PriorGaps& gaps, Group& group);
  Decoded<void> EndGroup(uint64_t id, Group& group, uint64_t end);
  Decoded<void> EndTrack(Location end);

  std::map<uint64_t, Group> groups_;
  size_t group_bytes_ = 0;
  IdRuns groups_seen_{kRunsMax};
  IdRuns groups_missing_{kRunsMax};
  std::optional<Location> largest_;
  std::optional<Location> largest_group_end_;  // As an object said.
  std::optional<Location> end_;  // The first location that does not exist, nor any after it.
};

}  // namespace kvcast::moqt
