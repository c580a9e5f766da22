#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "kvcast/base/digest.h"
#include "kvcast/base/error.h"
#include "kvcast/object/track_name.h"

namespace kvcast {

// What a catalog says, one fact at a time. Tracks are named once and then go by a number, since a
// name is longer than everything else about a block.

// From here on, `id` stands for this track. It is above every one before it in the epoch.
struct TrackRecord {
  uint32_t id = 0;
  TrackName name;
  friend bool operator==(const TrackRecord&, const TrackRecord&) = default;
};

// The node holds this group of the track. `key` is opaque here: to whoever can make it, it is the
// block's hash.
struct AddRecord {
  uint32_t id = 0;
  uint64_t group = 0;
  uint64_t bytes = 0;
  Digest key;
  friend bool operator==(const AddRecord&, const AddRecord&) = default;
};

// It does not any longer.
struct RemoveRecord {
  uint32_t id = 0;
  uint64_t group = 0;
  friend bool operator==(const RemoveRecord&, const RemoveRecord&) = default;
};

// It holds nothing of the track, and the number is spent.
struct DropRecord {
  uint32_t id = 0;
  friend bool operator==(const DropRecord&, const DropRecord&) = default;
};

using CatalogRecord = std::variant<TrackRecord, AddRecord, RemoveRecord, DropRecord>;
using CatalogRecords = std::vector<CatalogRecord>;

// What is wrong with a record's number: "is not above those before it.", "was dropped.".
inline Error MalformedNumber(uint32_t id, std::string_view what) {
  return Error(ErrorCode::kMalformed,
               "Track number " + std::to_string(id) + " " + std::string(what));
}

}  // namespace kvcast
