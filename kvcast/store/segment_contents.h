#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <variant>
#include <vector>

#include "kvcast/base/digest.h"
#include "kvcast/object/properties.h"
#include "kvcast/store/disk_record.h"

namespace kvcast {

// What an index needs to know of an object that lies on disk.
struct ObjectEntry {
  Location location;
  uint32_t payload_bytes = 0;
  uint32_t identity = 0;      // IdentitySum().
  std::optional<Digest> key;  // That its group is listed by.
  uint32_t absent = 0;        // Object::AbsentBefore().
  friend bool operator==(const ObjectEntry&, const ObjectEntry&) = default;
};

using EntryBody = std::variant<ObjectEntry, TrackFacts, GroupEnd, Removal>;

struct SegmentEntry {
  uint32_t track = 0;  // In the contents' list.
  uint64_t offset = 0;
  uint32_t length = 0;  // Of the record, without its padding.
  EntryBody body;
  friend bool operator==(const SegmentEntry&, const SegmentEntry&) = default;
};

// What an index has to know of a record, but for its place.
EntryBody EntryOf(const RecordBody& body, uint32_t payload_sum, uint64_t key_property);

// The 32 bytes of an immutable property of this type: to a tier a key without meaning.
std::optional<Digest> KeyIn(const Properties& properties, uint64_t key_property);

// All that a segment holds, in the order it was written.
struct SegmentContents {
  std::vector<TrackName> tracks;
  std::vector<SegmentEntry> entries;

  const TrackName& track_of(const SegmentEntry& entry) const { return tracks[entry.track]; }
};

// Puts contents together, each track's name once.
class ContentsBuilder {
 public:
  void Add(const TrackName& track, uint64_t offset, uint64_t length, EntryBody body);
  const SegmentContents& contents() const { return contents_; }
  SegmentContents Take();

 private:
  SegmentContents contents_;
  std::map<TrackName, uint32_t> numbers_;
};

}  // namespace kvcast
