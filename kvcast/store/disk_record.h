#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <variant>

#include "kvcast/base/byte_reader.h"
#include "kvcast/base/byte_writer.h"
#include "kvcast/base/bytes.h"
#include "kvcast/base/result.h"
#include "kvcast/object/object.h"
#include "kvcast/object/track_name.h"
#include "kvcast/store/disk_format.h"
#include "kvcast/store/lower_tier.h"

namespace kvcast {

// Where a record begins. Places rise with time: what is written later stands at a larger one.
struct DiskPlace {
  uint32_t segment = 0;
  uint64_t offset = 0;
  friend auto operator<=>(const DiskPlace&, const DiskPlace&) = default;
};

// What a record can say. Each is about one track.
//
//   object   := group:vi64 object:vi64 subgroup:vi64 priority:u8 forwarding:u8 status:u8
//               received_us:u64 properties
//   facts    := flags:u8 [largest] [end] count:vi64 (first last)[count] properties
//   end      := group:vi64 end:vi64
//   removal  := scope:u8 group:vi64 before_segment:vi64 before_offset:vi64
//   location := group:vi64 object:vi64          properties := length:vi64 bytes
// What stood before a place is no more: of one group, or of the whole track with its facts.
struct Removal {
  std::optional<uint64_t> group;
  DiskPlace before;  // Zeros: before the removal itself.
  friend bool operator==(const Removal&, const Removal&) = default;
};

enum class RecordKind : uint8_t { kObject = 1, kFacts = 2, kGroupEnd = 3, kRemoval = 4 };
using RecordBody = std::variant<StoredObject, TrackFacts, GroupEnd, Removal>;
RecordKind KindOf(const RecordBody& body);

inline constexpr size_t kGapsMax = TrackFacts::kGapsMax;

struct DiskRecord {
  TrackName track;
  RecordBody body;
};

// A bound for everything of a record but its payload.
inline constexpr uint32_t kRecordMetaBytesMax = 1 << 20;

//   record := marker:u64 ordinal:u32 kind:u8 zero[3] meta_bytes:u32 payload_bytes:u32
//             meta_crc32c:u32 payload_crc32c:u32 zero:u32 header_crc32c:u32
//             meta payload zeros                                up to a multiple of 8 bytes
//   meta   := track_name body
//
// The header's sum begins with the record's place and covers the other two.
inline constexpr uint64_t kRecordHeaderBytes = 40;
inline constexpr uint64_t kRecordAlignment = 8;
constexpr uint64_t RecordUp(uint64_t bytes) {
  return (bytes + kRecordAlignment - 1) / kRecordAlignment * kRecordAlignment;
}

// What a record must agree with, wherever it says so itself.
struct RecordSeat {
  DirectoryId directory;
  uint64_t marker = 0;
  DiskPlace place;
};

struct RecordHeader {
  uint32_t ordinal = 0;  // The how manyth of its segment.
  RecordKind kind = RecordKind::kObject;
  uint32_t meta_bytes = 0;
  uint32_t payload_bytes = 0;
  uint32_t meta_sum = 0;
  uint32_t payload_sum = 0;

  uint64_t size() const { return kRecordHeaderBytes + meta_bytes + payload_bytes; }
  // Malformed: anything but a header that was written for this place.
  static Result<RecordHeader> Parse(std::span<const std::byte> bytes, const RecordSeat& seat);
};

// A record as bytes but for its place, which is known only when it is its turn to be written.
// Refers to the payload.
class RecordDraft {
 public:
  // Too large: the properties, or the payload beyond 4 GiB.
  static Result<RecordDraft> Of(const DiskRecord& record);

  uint64_t size() const { return header_.size(); }
  uint32_t payload_sum() const { return header_.payload_sum; }
  // What it takes while it waits to be durable, here and in the books of whoever waits for it: an
  // empty object is not free.
  uint64_t CostOf(const TrackName& track) const {
    constexpr uint64_t kEach = 768;
    return size() + kEach + 4 * (track.space().length() + track.name().size());
  }
  // With its padding. REQUIRES: an offset that is a multiple of 8.
  Bytes Encode(const RecordSeat& seat, uint32_t ordinal) const;

 private:
  RecordHeader header_;
  Bytes meta_;
  Bytes payload_;
};

struct ParsedRecord {
  RecordHeader header;
  DiskRecord record;
};

// A record that is whole, and stands where it was meant to. `bytes` may hold more behind it.
Result<ParsedRecord> ParseRecord(const Bytes& bytes, const RecordSeat& seat);

// What a record said whose payload is damaged. Malformed: the rest is, too.
Result<DiskRecord> ParseRecordMeta(const Bytes& bytes, const RecordSeat& seat);

// Bodies, without the track's name, for records and footers. An object has its own in a footer.
void WriteBody(ByteWriter& writer, const RecordBody& body);
Result<RecordBody> ReadBody(ByteReader& reader, RecordKind kind);

// Stands for what may not differ between two objects of one place of a track: equal objects have
// equal sums, others almost never.
uint32_t IdentitySum(const Object& object, uint32_t payload_sum);

}  // namespace kvcast
