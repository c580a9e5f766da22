#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "kvcast/base/bytes.h"
#include "kvcast/catalog/catalog_object.h"
#include "kvcast/catalog/delta.h"
#include "kvcast/catalog/holdings.h"
#include "kvcast/object/location.h"
#include "kvcast/object/object.h"

namespace kvcast {

// A node's side of its catalog: told what comes and goes, it makes the objects of the track.
class CatalogWriter {
 public:
  // A node that restarts has a new boot id and so a new track: epochs begin at 0. Where a catalog
  // has gone and comes again they begin later, since its name may have had the others.
  explicit CatalogWriter(CatalogLimits limits = {}, uint64_t epoch = 0)
      : limits_(limits), holdings_(limits), epoch_(epoch) {}

  // Says that the node holds a group. Mismatch: it already holds it as something else. Too large:
  // the catalog is full, or its numbers are used up until StartEpoch().
  Result<void> Add(const TrackName& track, uint64_t group, const Digest& key, uint64_t bytes);
  // Unlists a group, or a track with all its groups. What is not listed is left alone.
  void Remove(const TrackName& track, uint64_t group);
  void Drop(const TrackName& track);

  const Holdings& holdings() const { return holdings_; }
  // Whether the group is listed.
  bool Holds(const TrackName& track, uint64_t group) const;

  // What changed since the last call, as the track's next objects; none if nothing did. The first
  // objects of an epoch are its snapshot.
  std::vector<Object> TakeObjects();

  // Begins a new epoch, whose snapshot TakeObjects() gives next. Worth it when the deltas have
  // become longer than the snapshot: a newcomer reads both.
  void StartEpoch();
  uint64_t epoch() const { return epoch_; }
  // Bytes of this epoch's snapshot, and of its deltas.
  size_t snapshot_bytes() const { return snapshot_bytes_; }
  size_t delta_bytes() const { return delta_bytes_; }

 private:
  Result<void> Change(const CatalogRecord& record);

  CatalogLimits limits_;
  Holdings holdings_;
  std::map<TrackName, uint32_t> ids_;
  uint64_t next_id_ = 0;
  Delta pending_;
  uint64_t epoch_ = 0;
  uint64_t next_object_ = 0;
  size_t snapshot_bytes_ = 0;
  size_t delta_bytes_ = 0;
};

}  // namespace kvcast
