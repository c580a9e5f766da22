#pragma once

#include <cstdint>
#include <deque>
#include <optional>

#include "kvcast/moqt/data_stream.h"
#include "kvcast/moqt/parameters.h"
#include "kvcast/object/location.h"
#include "kvcast/object/track_name.h"
#include "kvcast/store/ram_tier.h"

namespace kvcast::relay {

// Walks a range of a track as a fetch answers it: groups in the order asked for, objects by rising
// id, and between them the end of every range in which something is not here.
//
// An object that is not here may still exist, unless its group is whole: so a range says "unknown"
// as soon as one location in it is. The tier may change between two items; what has been passed
// stays as it was said.
class FetchCursor {
 public:
  // REQUIRES: the range is not empty, and ends at the track's largest object or before.
  FetchCursor(TrackName track, const LocationRange& range, moqt::GroupOrder order);

  const TrackName& track() const { return track_; }

  // Absent at the end, and ever after.
  std::optional<moqt::FetchItem> Next(RamTier& tier);
  // The next item may be asked for much later: what was looked up by then is looked up again, as it
  // may have had to go.
  void Pause() { loaded_.clear(); }

 private:
  // The objects of a group that the range has.
  uint64_t FirstOf(uint64_t group) const;
  uint64_t LastOf(uint64_t group) const;
  bool ascending() const { return order_ == moqt::GroupOrder::kAscending; }

  // Finds the next group that is here; false if there is none.
  bool EnterGroup(const RamTier& tier);
  void LeaveGroup(const RamTier& tier);
  bool Load(RamTier& tier);
  std::optional<moqt::FetchItem> TakeLoaded();
  std::optional<moqt::FetchItem> Finish();
  void GoTo(uint64_t group);
  Location Before(Location location) const;

  TrackName track_;
  LocationRange range_;
  moqt::GroupOrder order_;
  std::optional<uint64_t> next_group_;  // Absent once past the last.
  std::optional<uint64_t> group_;       // The one being read.
  uint64_t next_object_ = 0;            // Of it.
  std::deque<Object> loaded_;
  bool unknown_ = false;  // Something since the last item is.
  bool done_ = false;
};

}  // namespace kvcast::relay
