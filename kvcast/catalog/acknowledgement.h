#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "kvcast/base/bytes.h"
#include "kvcast/base/result.h"
#include "kvcast/object/durability.h"
#include "kvcast/object/properties.h"
#include "kvcast/object/track_name.h"

// How a publisher asks for durability, and hears what was reached: docs/reference/durability.md.
//
//   object := "kvak" version:u8 zero[3] record+
//   record := outcome:u8 length:vi64 name first:vi64 last:vi64     outcome := level | 255, not
//   reached
namespace kvcast {

// A track's immutable property: the number of the level that its objects are to reach.
inline constexpr uint64_t kDurabilityProperty = 0x3802;
Properties DurabilityProperties(Durability level);
// Memory if the track asks for nothing. Malformed: it asks twice, or for a level that there is not.
Result<Durability> DurabilityIn(const Properties& properties);

// Where a node tells what tracks of a namespace have reached. Too large: the name has no room.
inline constexpr std::string_view kAckTrackName = "ack";
Result<TrackName> AckTrackOf(const TrackNamespace& space);

// All objects of these groups, both included, have reached a level; or some never will.
struct AckRecord {
  std::optional<Durability> level;  // Absent: not reached.
  std::string name;                 // Of the track, in the namespace.
  uint64_t first = 0;
  uint64_t last = 0;

  friend bool operator==(const AckRecord&, const AckRecord&) = default;
};

// REQUIRES: there is a record.
Bytes EncodeAcks(const std::vector<AckRecord>& records);
Result<std::vector<AckRecord>> ParseAcks(const Bytes& payload);

}  // namespace kvcast
