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
//
// Where others may have what is not here, it stops at a hole() until they have had their say.
class FetchCursor {
 public:
  // `patience`: how long it waits for tiers in all, if there is such a bound; then the rest of what
  // is not in memory is unknown. REQUIRES: the range is not empty, and ends at the track's largest
  // object or before.
  FetchCursor(TrackName track, const LocationRange& range, moqt::GroupOrder order,
              std::optional<Duration> patience = std::nullopt);

  const TrackName& track() const { return track_; }
  moqt::GroupOrder order() const { return order_; }
  // Where it is: what lies before has been handed out.
  Location at() const;
  const LocationRange& range() const { return range_; }

  // Absent at the end, and ever after; or while waiting() for a tier, or for what fills a hole.
  std::optional<moqt::FetchItem> Next(Store& store, Instant now);
  bool waiting() const { return ahead_.empty() ? hole_.has_value() : !ahead_.front().is_known(); }

  // Others may have what is not here, and are to be asked.
  void LetOthersFill() { fills_ = others_ = true; }
  // Whether they ever were to be.
  bool fills() const { return others_; }
  // What it stands before, and others are to be asked for: everything from its beginning, in the
  // order of the fetch, to its end.
  const std::optional<LocationRange>& hole() const { return hole_; }
  // An object of the hole; what lies before it there does not exist. False: it is none of it.
  bool Fill(const Object& object, const Store& store);
  // What is not in the store of the hole up to here does not exist (`nothing`), or nobody knows.
  void Settle(Location through, bool nothing, Store& store, Instant now);
  // Nobody is asked any more: what is not here is unknown.
  void GiveUp();
  // How long it may still wait, if there is such a bound.
  std::optional<Duration> patience() const { return patience_; }

  // What became of a read. False: it is none of this fetch's.
  // `trials`: why it was not found.
  bool OnRead(StoreTicket ticket, std::optional<Object> found, std::vector<TierTrial> trials = {});
  // The first object that is somewhere, and could not be had.
  struct Failed {
    Location at;
    std::vector<TierTrial> trials;
  };
  const std::optional<Failed>& failed() const { return failed_; }
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
    bool lacking = false;  // It was here, and is not: others are asked for it.

    bool is_known() const { return !ticket && !lacking; }
  };
  enum class Step : uint8_t { kEntered, kEnd, kHole };

  // The objects of a group that the range has.
  uint64_t FirstOf(uint64_t group) const;
  uint64_t LastOf(uint64_t group) const;
  bool ascending() const { return order_ == moqt::GroupOrder::kAscending; }

  // Passes what lies before the next thing that is here; false if others are to be asked for it.
  bool Pass(const LocationRange& skipped, const Store& store);
  // What of it others have not been asked for, as far as that is one range.
  std::optional<LocationRange> Unsettled(const LocationRange& range) const;
  // Whether all from where it looks to there does not exist.
  bool IsClear(Location to, const Store& store) const;
  void LookFrom(Location next);
  // Finds the next group that is here.
  Step EnterGroup(const Store& store);
  // The locations that lie before group `here` in the order, from `wanted` on; all if it is absent.
  LocationRange Skipped(uint64_t wanted, std::optional<uint64_t> here) const;
  bool LeaveGroup(const Store& store);
  bool Append(Store::Located located, Store& store, Instant now);
  void LookAhead(Store& store, Instant now);
  void Look(Ahead& entry, Store& store, Instant now);
  void Resume(Store& store, Instant now);
  std::optional<moqt::FetchItem> TakeFront(Store& store);
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
  std::optional<Failed> failed_;
  bool fills_ = false;
  bool others_ = false;
  std::optional<LocationRange> hole_;
  std::optional<Location> settled_;       // Up to here others have had their say.
  std::optional<LocationRange> nothing_;  // Where they said last that nothing is.
  bool missed_ = false;                   // Something since the last item could not be had.
  bool paused_ = false;
  bool done_ = false;
};

}  // namespace kvcast::relay
