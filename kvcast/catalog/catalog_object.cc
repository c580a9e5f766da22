#include "kvcast/catalog/catalog_object.h"

#include <limits>
#include <string_view>
#include <utility>

#include "kvcast/base/byte_reader.h"
#include "kvcast/base/byte_writer.h"
#include "kvcast/base/check.h"

namespace kvcast {
namespace {

constexpr std::string_view kMagic = "kvct";
constexpr size_t kCheckBytes = 8;
// Objects are cut here, far below what a reader accepts: one record is at most 4.2 KB longer.
constexpr size_t kObjectBytesGoal = 192 * 1024;
constexpr size_t kRecordBytesMin = 2;
static_assert(kObjectBytesGoal / kRecordBytesMin <= CatalogObject::kRecordsMax);

struct RecordWriter {
  ByteWriter& writer;

  void operator()(const TrackRecord& record) const {
    writer.U8(1);
    writer.Vi64(record.id);
    record.name.WriteTo(writer);
  }
  void operator()(const AddRecord& record) const {
    writer.U8(2);
    writer.Vi64(record.id);
    writer.Vi64(record.group);
    writer.Vi64(record.bytes);
    writer.Write(record.key.bytes);
  }
  void operator()(const RemoveRecord& record) const {
    writer.U8(3);
    writer.Vi64(record.id);
    writer.Vi64(record.group);
  }
  void operator()(const DropRecord& record) const {
    writer.U8(4);
    writer.Vi64(record.id);
  }
};

Result<uint32_t> ReadId(ByteReader& reader) {
  const uint64_t at = reader.offset();
  KVCAST_TRY(const uint64_t id, reader.Vi64());
  if (id > std::numeric_limits<uint32_t>::max()) {
    return Error(ErrorCode::kMalformed, "A track's number is below 2^32.").At(at);
  }
  return static_cast<uint32_t>(id);
}

Result<CatalogRecord> ReadRecord(ByteReader& reader) {
  const uint64_t at = reader.offset();
  KVCAST_TRY(const uint8_t type, reader.U8());
  if (type < 1 || type > 4) {
    return Error(ErrorCode::kMalformed, "Record type " + std::to_string(type) + " is not known.")
        .At(at);
  }
  KVCAST_TRY(const uint32_t id, ReadId(reader));
  if (type == 1) {
    KVCAST_TRY(TrackName name, TrackName::ReadFrom(reader));
    return CatalogRecord(TrackRecord{id, std::move(name)});
  }
  if (type == 4) {
    return CatalogRecord(DropRecord{id});
  }
  KVCAST_TRY(const uint64_t group, reader.Vi64());
  if (type == 3) {
    return CatalogRecord(RemoveRecord{id, group});
  }
  AddRecord add{id, group, 0, {}};
  KVCAST_TRY(add.bytes, reader.Vi64());
  KVCAST_TRY_VOID(reader.Read(add.key.bytes));
  return CatalogRecord(add);
}

void WriteHeader(ByteWriter& writer, CatalogKind kind, uint32_t part, uint32_t parts,
                 size_t count) {
  writer.Write(kMagic);
  writer.U8(CatalogObject::kVersion);
  writer.U8(static_cast<uint8_t>(kind));
  writer.U16Le(0);
  writer.U32Le(part);
  writer.U32Le(parts);
  writer.U32Le(static_cast<uint32_t>(count));
}

Bytes WithCheck(Bytes bytes) {
  const Digest digest = Sha256::Of(bytes);
  bytes.Append(Bytes::Copy(digest.span().first<kCheckBytes>()));
  KVCAST_CHECK(bytes.size() <= CatalogObject::kBytesMax);
  return bytes;
}

// Reads up to the count, and sees that what it says can be.
Result<CatalogObject> ReadHeader(ByteReader& reader) {
  KVCAST_TRY(const std::string magic, reader.Text(kMagic.size()));
  KVCAST_TRY(const uint8_t version, reader.U8());
  if (magic != kMagic || version != CatalogObject::kVersion) {
    return Error(ErrorCode::kUnsupported, "This is not a catalog of version 1.").At(0);
  }
  CatalogObject object;
  KVCAST_TRY(const uint8_t kind, reader.U8());
  KVCAST_TRY(const uint16_t zero, reader.U16Le());
  if (kind > 1 || zero != 0) {
    return Error(ErrorCode::kMalformed, "A catalog object is a snapshot or a delta.")
        .At(CatalogObject::kKindAt);
  }
  object.kind = static_cast<CatalogKind>(kind);
  KVCAST_TRY(object.part, reader.U32Le());
  KVCAST_TRY(object.parts, reader.U32Le());
  const bool is_delta = object.kind == CatalogKind::kDelta;
  if (object.part >= object.parts || (is_delta && object.parts != 1)) {
    return Error(ErrorCode::kMalformed, "Part " + std::to_string(object.part) + " of " +
                                            std::to_string(object.parts) + " cannot be.")
        .At(CatalogObject::kPartAt);
  }
  return object;
}

}  // namespace

Bytes CatalogObject::Encode() const {
  ByteWriter writer;
  WriteHeader(writer, kind, part, parts, records.size());
  for (const CatalogRecord& record : records) {
    std::visit(RecordWriter{writer}, record);
  }
  return WithCheck(writer.Take());
}

Result<CatalogObject> CatalogObject::Parse(const Bytes& payload) {
  if (payload.size() > kBytesMax) {
    return Error(ErrorCode::kTooLarge, "A catalog object has at most " + std::to_string(kBytesMax) +
                                           " bytes; this one has " +
                                           std::to_string(payload.size()) + ".")
        .At(kBytesMax);
  }
  if (payload.size() < kCheckBytes) {
    return Error(ErrorCode::kMalformed, "The object ends before its check.").At(payload.size());
  }
  const Bytes body = payload.Slice(0, payload.size() - kCheckBytes);
  ByteReader reader(body);
  KVCAST_TRY(CatalogObject object, ReadHeader(reader));
  const Digest digest = Sha256::Of(body);
  const Bytes check = Bytes::Copy(digest.span().first<kCheckBytes>());
  if (!(payload.Slice(body.size(), kCheckBytes) == check)) {
    return Error(ErrorCode::kMismatch, "The check does not match: the object is damaged.")
        .At(body.size());
  }
  KVCAST_TRY(const uint32_t count, reader.U32Le());
  if (count > kRecordsMax) {
    return Error(ErrorCode::kTooLarge, "A catalog object has at most " +
                                           std::to_string(kRecordsMax) + " records; this one has " +
                                           std::to_string(count) + ".")
        .At(reader.offset());
  }
  // The count sizes nothing: records are read for as long as there are bytes.
  for (uint32_t i = 0; i < count; ++i) {
    KVCAST_TRY(CatalogRecord record, ReadRecord(reader));
    object.records.push_back(std::move(record));
  }
  if (!reader.done()) {
    return reader.Malformed("Bytes are left over after the last record.");
  }
  return object;
}

std::vector<Bytes> EncodeCatalog(CatalogKind kind, std::span<const CatalogRecord> records) {
  struct Part {
    Bytes body;
    size_t count = 0;
  };
  std::vector<Part> parts;
  ByteWriter writer;
  size_t count = 0;
  for (const CatalogRecord& record : records) {
    std::visit(RecordWriter{writer}, record);
    ++count;
    if (writer.size() >= kObjectBytesGoal) {
      parts.push_back({writer.Take(), std::exchange(count, 0)});
    }
  }
  if (count > 0 || (parts.empty() && kind == CatalogKind::kSnapshot)) {
    parts.push_back({writer.Take(), count});
  }
  std::vector<Bytes> objects;
  for (size_t i = 0; i < parts.size(); ++i) {
    const bool snapshot = kind == CatalogKind::kSnapshot;
    ByteWriter object;
    WriteHeader(object, kind, snapshot ? static_cast<uint32_t>(i) : 0,
                snapshot ? static_cast<uint32_t>(parts.size()) : 1, parts[i].count);
    object.Share(parts[i].body);
    objects.push_back(WithCheck(object.Take()));
  }
  return objects;
}

}  // namespace kvcast
