#include "kvcast/store/disk_record.h"

#include <array>
#include <utility>

#include "kvcast/base/check.h"
#include "kvcast/base/check_sum.h"
#include "kvcast/base/planted.h"

namespace kvcast {
namespace {

constexpr uint8_t kHasLargest = 1;
constexpr uint8_t kHasEnd = 2;
constexpr uint8_t kScopeGroup = 0;
constexpr uint8_t kScopeTrack = 1;

void WriteLocation(ByteWriter& writer, Location location) {
  writer.Vi64(location.group);
  writer.Vi64(location.object);
}

Result<Location> ReadLocation(ByteReader& reader) {
  Location location;
  KVCAST_TRY(location.group, reader.Vi64());
  KVCAST_TRY(location.object, reader.Vi64());
  return location;
}

void WriteProperties(ByteWriter& writer, const Properties& properties) {
  writer.Vi64(properties.encoded().size());
  writer.Write(properties.encoded());
}

Result<Properties> ReadProperties(ByteReader& reader) {
  KVCAST_TRY(const uint64_t length, reader.Vi64());
  KVCAST_TRY(std::string encoded, reader.Text(length));
  return Properties::Parse(std::move(encoded));
}

void Write(ByteWriter& writer, const StoredObject& stored) {
  const Object& object = stored.object;
  WriteLocation(writer, object.location);
  writer.Vi64(object.subgroup);
  writer.U8(object.priority);
  writer.U8(static_cast<uint8_t>(object.forwarding));
  writer.U8(static_cast<uint8_t>(object.status));
  writer.U64Le(stored.received_us);
  WriteProperties(writer, object.properties);
}

Result<RecordBody> ReadObject(ByteReader& reader) {
  StoredObject stored;
  Object& object = stored.object;
  KVCAST_TRY(object.location, ReadLocation(reader));
  KVCAST_TRY(object.subgroup, reader.Vi64());
  KVCAST_TRY(object.priority, reader.U8());
  KVCAST_TRY(const uint8_t forwarding, reader.U8());
  KVCAST_TRY(const uint8_t status, reader.U8());
  KVCAST_TRY(stored.received_us, reader.U64Le());
  KVCAST_TRY(object.properties, ReadProperties(reader));
  if (forwarding > static_cast<uint8_t>(Forwarding::kDatagram)) {
    return reader.Malformed("A forwarding preference is 0 or 1.");
  }
  if (status != 0 && status != static_cast<uint8_t>(ObjectStatus::kEndOfGroup) &&
      status != static_cast<uint8_t>(ObjectStatus::kEndOfTrack)) {
    return reader.Malformed("An object's status is 0, 3 or 4.");
  }
  object.forwarding = static_cast<Forwarding>(forwarding);
  object.status = static_cast<ObjectStatus>(status);
  return RecordBody(std::move(stored));
}

void Write(ByteWriter& writer, const TrackFacts& facts) {
  writer.U8(static_cast<uint8_t>((facts.largest ? kHasLargest : 0) | (facts.end ? kHasEnd : 0)));
  if (facts.largest) {
    WriteLocation(writer, *facts.largest);
  }
  if (facts.end) {
    WriteLocation(writer, *facts.end);
  }
  writer.Vi64(facts.gaps.size());
  for (const LocationRange& gap : facts.gaps) {
    WriteLocation(writer, gap.first);
    WriteLocation(writer, gap.last);
  }
  WriteProperties(writer, facts.properties);
}

Result<RecordBody> ReadFacts(ByteReader& reader) {
  TrackFacts facts;
  KVCAST_TRY(const uint8_t flags, reader.U8());
  if (flags > (kHasLargest | kHasEnd)) {
    return reader.Malformed("A track's facts have two flags.");
  }
  if ((flags & kHasLargest) != 0) {
    KVCAST_TRY(facts.largest, ReadLocation(reader));
  }
  if ((flags & kHasEnd) != 0) {
    KVCAST_TRY(facts.end, ReadLocation(reader));
  }
  KVCAST_TRY(const uint64_t gaps, reader.Vi64());
  if (gaps > kGapsMax) {
    return reader.Malformed("A track has at most 1,024 gaps.");
  }
  for (uint64_t i = 0; i < gaps; ++i) {
    LocationRange gap;
    KVCAST_TRY(gap.first, ReadLocation(reader));
    KVCAST_TRY(gap.last, ReadLocation(reader));
    facts.gaps.push_back(gap);
  }
  KVCAST_TRY(facts.properties, ReadProperties(reader));
  return RecordBody(std::move(facts));
}

void Write(ByteWriter& writer, const GroupEnd& end) {
  writer.Vi64(end.group);
  writer.Vi64(end.end);
}

Result<RecordBody> ReadGroupEnd(ByteReader& reader) {
  GroupEnd end;
  KVCAST_TRY(end.group, reader.Vi64());
  KVCAST_TRY(end.end, reader.Vi64());
  return RecordBody(end);
}

void Write(ByteWriter& writer, const Removal& removal) {
  writer.U8(removal.group ? kScopeGroup : kScopeTrack);
  writer.Vi64(removal.group.value_or(0));
  writer.Vi64(removal.before.segment);
  writer.Vi64(removal.before.offset);
}

Result<RecordBody> ReadRemoval(ByteReader& reader) {
  Removal removal;
  KVCAST_TRY(const uint8_t scope, reader.U8());
  KVCAST_TRY(const uint64_t group, reader.Vi64());
  KVCAST_TRY(const uint64_t segment, reader.Vi64());
  KVCAST_TRY(removal.before.offset, reader.Vi64());
  if (scope > kScopeTrack || segment > kSegmentNumberMax) {
    return reader.Malformed("A removal is of a group or a track, before a place.");
  }
  if (scope == kScopeGroup) {
    removal.group = group;
  }
  removal.before.segment = static_cast<uint32_t>(segment);
  return RecordBody(removal);
}

}  // namespace

RecordKind KindOf(const RecordBody& body) { return static_cast<RecordKind>(body.index() + 1); }

void WriteBody(ByteWriter& writer, const RecordBody& body) {
  std::visit([&](const auto& one) { Write(writer, one); }, body);
}

Result<RecordBody> ReadBody(ByteReader& reader, RecordKind kind) {
  switch (kind) {
    case RecordKind::kObject:
      return ReadObject(reader);
    case RecordKind::kFacts:
      return ReadFacts(reader);
    case RecordKind::kGroupEnd:
      return ReadGroupEnd(reader);
    case RecordKind::kRemoval:
      return ReadRemoval(reader);
  }
  return reader.Malformed("There is no such kind of record.");
}

Result<RecordHeader> RecordHeader::Parse(std::span<const std::byte> bytes, const RecordSeat& seat) {
  ByteReader reader(bytes);
  KVCAST_TRY(const uint64_t marker, reader.U64Le());
  if (marker != seat.marker || bytes.size() < kRecordHeaderBytes) {
    return reader.Malformed("No record begins here.");
  }
  RecordHeader header;
  KVCAST_TRY(header.ordinal, reader.U32Le());
  KVCAST_TRY(const uint8_t kind, reader.U8());
  KVCAST_TRY_VOID(reader.Skip(3));
  KVCAST_TRY(header.meta_bytes, reader.U32Le());
  KVCAST_TRY(header.payload_bytes, reader.U32Le());
  KVCAST_TRY(header.meta_sum, reader.U32Le());
  KVCAST_TRY(header.payload_sum, reader.U32Le());
  KVCAST_TRY_VOID(reader.Skip(4));
  KVCAST_TRY(const uint32_t sum, reader.U32Le());
  const uint32_t start = PlaceSum(seat.directory, seat.place.segment, seat.place.offset);
  if (sum != Crc32c(bytes.first(kRecordHeaderBytes - 4), start)) {
    return reader.Malformed("A record's header is damaged, or was meant for another place.");
  }
  if (kind < static_cast<uint8_t>(RecordKind::kObject) ||
      kind > static_cast<uint8_t>(RecordKind::kRemoval) ||
      header.meta_bytes > kRecordMetaBytesMax) {
    return reader.Malformed("A record's header makes no sense.");
  }
  header.kind = static_cast<RecordKind>(kind);
  return header;
}

Result<RecordDraft> RecordDraft::Of(const DiskRecord& record) {
  RecordDraft draft;
  ByteWriter writer;
  record.track.WriteTo(writer);
  WriteBody(writer, record.body);
  draft.meta_ = writer.Take();
  if (const auto* stored = std::get_if<StoredObject>(&record.body)) {
    draft.payload_ = stored->object.payload;
  }
  if (draft.meta_.size() > kRecordMetaBytesMax || draft.payload_.size() > UINT32_MAX) {
    return Error(ErrorCode::kTooLarge,
                 "An object on disk has at most 1 MiB of properties and 4 "
                 "GiB of payload.");
  }
  draft.header_ = {.ordinal = 0,
                   .kind = KindOf(record.body),
                   .meta_bytes = static_cast<uint32_t>(draft.meta_.size()),
                   .payload_bytes = static_cast<uint32_t>(draft.payload_.size()),
                   .meta_sum = Crc32c(draft.meta_),
                   .payload_sum = Crc32c(draft.payload_)};
  return draft;
}

Bytes RecordDraft::Encode(const RecordSeat& seat, uint32_t ordinal) const {
  KVCAST_CHECK(seat.place.offset % kRecordAlignment == 0);
  ByteWriter writer;
  writer.U64Le(seat.marker);
  writer.U32Le(ordinal);
  writer.U8(static_cast<uint8_t>(header_.kind));
  writer.U8(0);
  writer.U16Le(0);
  writer.U32Le(header_.meta_bytes);
  writer.U32Le(header_.payload_bytes);
  writer.U32Le(header_.meta_sum);
  writer.U32Le(header_.payload_sum);
  writer.U32Le(0);
  Bytes record = writer.Take();
  writer.U32Le(Crc32c(record, PlaceSum(seat.directory, seat.place.segment, seat.place.offset)));
  record.Append(writer.Take());
  record.Append(meta_);
  record.Append(payload_);
  while ((record.size() + writer.size()) % kRecordAlignment != 0) {
    writer.U8(0);
  }
  record.Append(writer.Take());
  return record;
}

namespace {

struct RecordParts {
  RecordHeader header;
  Bytes meta;
  Bytes payload;
};

Result<RecordParts> PartsOf(const Bytes& bytes, const RecordSeat& seat) {
  std::array<std::byte, kRecordHeaderBytes> start{};
  ByteReader reader(bytes);
  KVCAST_TRY_VOID(reader.Read(start));
  KVCAST_TRY(const RecordHeader header, RecordHeader::Parse(start, seat));
  if (header.size() > bytes.size()) {
    return reader.Malformed("The record ends early.");
  }
  RecordParts parts{header, bytes.Slice(kRecordHeaderBytes, header.meta_bytes),
                    bytes.Slice(kRecordHeaderBytes + header.meta_bytes, header.payload_bytes)};
  if (Crc32c(parts.meta) != header.meta_sum) {
    return reader.Malformed("The record is damaged.");
  }
  return parts;
}

Result<DiskRecord> RecordOf(const RecordParts& parts) {
  ByteReader fields(parts.meta);
  KVCAST_TRY(TrackName track, TrackName::ReadFrom(fields));
  KVCAST_TRY(RecordBody body, ReadBody(fields, parts.header.kind));
  auto* const stored = std::get_if<StoredObject>(&body);
  if (!fields.done() || (stored == nullptr && !parts.payload.empty())) {
    return fields.Malformed("The record holds more than its fields.");
  }
  if (stored != nullptr) {
    stored->object.payload = parts.payload;
  }
  return DiskRecord{std::move(track), std::move(body)};
}

}  // namespace

Result<ParsedRecord> ParseRecord(const Bytes& bytes, const RecordSeat& seat) {
  KVCAST_TRY(const RecordParts parts, PartsOf(bytes, seat));
  if (Crc32c(parts.payload) != parts.header.payload_sum && !Planted(PlantedBug::kNoCheckSum)) {
    return ByteReader(parts.payload).Malformed("The record is damaged.");
  }
  KVCAST_TRY(DiskRecord record, RecordOf(parts));
  return ParsedRecord{parts.header, std::move(record)};
}

Result<DiskRecord> ParseRecordMeta(const Bytes& bytes, const RecordSeat& seat) {
  KVCAST_TRY(const RecordParts parts, PartsOf(bytes, seat));
  return RecordOf(parts);
}

uint32_t IdentitySum(const Object& object, uint32_t payload_sum) {
  ByteWriter writer;
  WriteLocation(writer, object.location);
  writer.Vi64(object.subgroup);
  writer.U8(object.priority);
  writer.U8(static_cast<uint8_t>(object.forwarding));
  writer.U8(static_cast<uint8_t>(object.status));
  writer.Vi64(object.payload.size());
  writer.U32Le(payload_sum);
  const std::optional<Properties> immutable = object.properties.Immutable();
  writer.U8(immutable ? 1 : 0);
  writer.Write(immutable ? immutable->encoded() : std::string());
  return Crc32c(writer.Take());
}

}  // namespace kvcast
