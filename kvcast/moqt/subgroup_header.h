#pragma once

#include <cstdint>
#include <optional>

#include "kvcast/base/bytes.h"
#include "kvcast/moqt/fault.h"

namespace kvcast::moqt {

// How a stream of objects begins that belong to one subgroup of one track.
//
//   header := type:vi64 alias:vi64 group:vi64 [subgroup:vi64] [priority:u8]
//   type   := 0b0fd1emmp: first object, default priority, end of group, mode of the id, properties
struct SubgroupHeader {
  enum class Mode : uint8_t { kZero = 0, kFirstObject = 1, kExplicit = 2 };

  uint64_t alias = 0;
  uint64_t group = 0;
  Mode mode = Mode::kZero;
  uint64_t subgroup = 0;            // For kExplicit.
  std::optional<uint8_t> priority;  // Absent: the track's own.
  bool properties = false;          // Every object has a length of properties.
  bool end_of_group = false;        // It has the group's last object, if the stream ends by FIN.
  bool first_object = false;        // It begins with the first object ever published in it.

  static bool IsType(uint64_t type) { return type < 0x80 && (type & 0x10) != 0; }
  // What the type says of the header. REQUIRES: IsType(type).
  static Decoded<SubgroupHeader> OfType(uint64_t type);
  uint64_t type() const;
  Bytes Encode() const;

  friend bool operator==(const SubgroupHeader&, const SubgroupHeader&) = default;
};

}  // namespace kvcast::moqt
