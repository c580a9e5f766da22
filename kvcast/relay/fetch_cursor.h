#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <utility>
#include <vector>

#include "kvcast/moqt/data_stream.h"
#include "kvcast/moqt/parameters.h"
#include "kvcast/object/location.h"
#include "kvcast/object/track_name.h"
#include "kvcast/store/store.h"

namespace kvcast::relay {

// Walks a range of a track as a fetch answers it: groups in the order asked for, objects by rising
// id, and between them the end of every range in which something is not here.
//
// An object that is not here may still exist, unless its publisher has said otherwise, by the end
// of its group or of the track or by a gap: so a range says "unknown" as soon as one location in it
// is. The store may change between two items; what has been passed
// stays as it was said.
//
// What a tier below RAM has is asked for ahead of time, some 16 MiB of it, so that the tier reads
// at its own pace while the fetch goes on in order.
class FetchCursor {
 public:
  // `patience`: how long it waits for tiers in all, if there is such a bound; then the rest of what
  // is not in memory is unknown. REQUIRES: the range is not empty, and ends at the track's largest
  // object or before.
  FetchCursor(TrackName track, const LocationRange& range, moqt::GroupOrder order,
              std::optional<Duration> patience = std::nullopt);

  const TrackName& track() const { return track_; }

  // Absent at the end, and ever after; or while waiting() for a tier.
  std::optional<moqt::FetchItem> Next(Store& store, Instant now);
  bool waiting() const { return !ahead_.empty() && ahead_.front().ticket.has_value(); }
  // What became of a read. False: it is none of this fetch's.
  bool OnRead(StoreTicket ticket, std::optional<Object> found);
  // Reads asked for since the last call.
  std::vector<StoreTicket> TakeAsked() { return std::exchange(asked_, {}); }
  // Nobody wants the rest. Gives the reads that nothing will come of.
  std::vector<StoreTicket> Cancel(Store& store);
  // The next item may be asked for much later: what was looked up by then is looked up again, as it
  // may have had to go.
  void Pause();

 private:
  // An object that was found to be somewhere.
  struct Ahead {
    Location at;
    bool unknown_before = false;  // Something between it and the one before it is.
    std::optional<Object> object;
    std::optional<StoreTicket> ticket;  // While it is being read.
    bool was_read = false;              // From below, for this fetch.
    bool look_again = false;
  };

  // The objects of a group that the range has.
  uint64_t FirstOf(uint64_t group) const;
  uint64_t LastOf(uint64_t group) const;
  bool ascending() const { return order_ == moqt::GroupOrder::kAscending; }

  // Finds the next group that is here; false if there is none.
  bool EnterGroup(const Store& store);
  // The locations that lie before group `here` in the order, from `wanted` on; all if it is absent.
  LocationRange Skipped(uint64_t wanted, std::optional<uint64_t> here) const;
  void LeaveGroup(const Store& store);
  void LookAhead(Store& store, Instant now);
  void Look(Ahead& entry, Store& store, Instant now);
  void Resume(Store& store, Instant now);
  std::optional<moqt::FetchItem> TakeFront();
  std::optional<moqt::FetchItem> Finish();
  void GoTo(uint64_t group);
  Location Before(Location location) const;

  TrackName track_;
  LocationRange range_;
  moqt::GroupOrder order_;

  // How far it has looked.
  std::optional<uint64_t> next_group_;  // Absent once past the last.
  std::optional<uint64_t> group_;       // The one being read.
  uint64_t next_object_ = 0;            // Of it.
  bool unknown_ = false;                // Something since the last entry is.
  bool below_ = false;                  // Some of what was found last has to be read.
  size_t window_;                       // How many of such to look ahead.

  std::optional<Duration> patience_;
  std::optional<Instant> waits_since_;
  std::deque<Ahead> ahead_;
  std::vector<StoreTicket> asked_;
  bool missed_ = false;  // Something since the last item could not be had.
  bool paused_ = false;
  bool done_ = false;
};

}  // namespace kvcast::relay
