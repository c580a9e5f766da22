#pragma once

#include "kvcast/object/track_name.h"

namespace kvcast::moqt {

// Whether a namespace is kept for the protocol: "." stands for nothing, and we have no tracks of a
// session's own.
inline bool IsReserved(const TrackNamespace& space) {
  return space.field_count() > 0 && (space.field(0) == "." || space.field(0) == ".session");
}

}  // namespace kvcast::moqt
