#pragma once

#include <cstdint>
#include <optional>

namespace kvcast::moqt {

// How a stream of objects begins that belong to one subgroup of one track.
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

  friend bool operator==(const SubgroupHeader&, const SubgroupHeader&) = default;
};

}  // namespace kvcast::moqt
