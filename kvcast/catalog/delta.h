#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <variant>

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
  // After all that was added before. REQUIRES: no record for a track after its drop.
  void Add(const CatalogRecord& record);
  // After all of this delta.
  void Merge(const Delta& later);

  bool empty() const { return tracks_.empty(); }
  // Drops, then names, then groups; each by track and group.
  CatalogRecords ToRecords() const;

 private:
  struct Track {
    std::optional<TrackName> name;
    bool dropped = false;
    std::map<uint64_t, std::variant<AddRecord, RemoveRecord>> groups;
  };
  std::map<uint32_t, Track> tracks_;
};

}  // namespace kvcast
