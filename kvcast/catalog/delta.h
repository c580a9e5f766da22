#pragma once

#include <cstdint>
#include <map>
#include <optional>

#include "kvcast/base/result.h"
#include "kvcast/catalog/record.h"

namespace kvcast {

// A change to a catalog, reduced to what it comes to: for each track whether it was named or
// dropped, for each group the last word about it.
//
// Records may be added for as long as nobody has taken the delta, so a block that came and went
// between two of them is never told of. Applying a merged delta has the effect of applying its
// parts one after the other.
class Delta {
 public:
  // After all that was added before. Malformed or mismatch: what every reader would refuse after
  // the records before it; the delta stays as it was.
  Result<void> Add(const CatalogRecord& record);
  // The records of a delta that comes after all of this one, as they came: reduced, it would no
  // longer tell what a reader would have refused. After an error this delta is of no use.
  Result<void> Merge(const CatalogRecords& later);

  // Drops, names, removes and adds, in this order, so that a reader never needs room for more than
  // it has before or after; each by track and group.
  CatalogRecords ToRecords() const;

 private:
  struct Group {
    bool removed = false;          // At some time before it was added, if it was.
    std::optional<AddRecord> add;  // The last word.
  };
  struct Track {
    std::optional<TrackName> name;
    bool dropped = false;
    bool came_and_went = false;  // Dropped after it was named here: nobody needs to hear of it.
    std::map<uint64_t, Group> groups;
  };
  Result<void> Name(const TrackRecord& record);
  Result<void> Drop(uint32_t id);

  std::map<uint32_t, Track> tracks_;
  uint64_t next_id_ = 0;  // Numbers rise: those below this cannot be named any more.
};

}  // namespace kvcast
