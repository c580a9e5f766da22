#include "kvcast/store/export_stream.h"

#include <algorithm>
#include <string>

#include "kvcast/base/byte_reader.h"
#include "kvcast/base/byte_writer.h"
#include "kvcast/base/check.h"
#include "kvcast/base/check_sum.h"

namespace kvcast {
namespace {

constexpr BlockKind kExportKind{"kvcastX\n", kExportVersion, "file"};
constexpr std::string_view kEndMagic = "kvcastE\n";
constexpr size_t kEndZeros = 44;

RecordSeat SeatAt(const ExportId& id, uint64_t offset) { return {id.id, id.marker, {0, offset}}; }

}  // namespace

Bytes ExportWriter::Head() {
  KVCAST_CHECK(offset_ == 0);
  ByteWriter fields;
  fields.Write(id_.id.bytes);
  fields.U64Le(id_.marker);
  Bytes head = SealBlock(fields, kExportKind);
  offset_ = head.size();
  return head;
}

Result<Bytes> ExportWriter::Record(const DiskRecord& record) {
  KVCAST_TRY(const RecordDraft draft, RecordDraft::Of(record));
  Bytes encoded = draft.Encode(SeatAt(id_, offset_), records_++);
  offset_ += encoded.size();
  return encoded;
}

Bytes ExportWriter::End() {
  ByteWriter writer;
  writer.Write(kEndMagic);
  writer.U64Le(records_);
  writer.Share(ZeroBytes(kEndZeros));
  Bytes end = writer.Take();
  writer.U32Le(Crc32c(end, PlaceSum(id_.id, 0, offset_)));
  end.Append(writer.Take());
  offset_ += end.size();
  return end;
}

void ExportReader::Drop(uint64_t bytes) {
  buffer_ = buffer_.Slice(bytes, buffer_.size() - bytes);
  offset_ += bytes;
}

Result<void> ExportReader::ReadHead() {
  const std::string block = buffer_.Slice(0, kDeviceBlockBytes).ToString();
  KVCAST_TRY(ByteReader fields, OpenBlock(AsBytes(block), kExportKind));
  ExportId id;
  KVCAST_TRY_VOID(fields.Read(id.id.bytes));
  KVCAST_TRY(id.marker, fields.U64Le());
  id_ = id;
  Drop(kDeviceBlockBytes);
  return {};
}

Result<void> ExportReader::ReadEnd() {
  const std::string end = buffer_.Slice(0, kExportEndBytes).ToString();
  ByteReader reader(AsBytes(end));
  KVCAST_TRY_VOID(reader.Skip(kEndMagic.size()));
  KVCAST_TRY(const uint64_t records, reader.U64Le());
  KVCAST_TRY_VOID(reader.Skip(kEndZeros));
  KVCAST_TRY(const uint32_t sum, reader.U32Le());
  if (sum != Crc32c(AsBytes(end).first(kExportEndBytes - 4), PlaceSum(id_->id, 0, offset_)) ||
      records != records_) {
    return Error(ErrorCode::kMalformed, "The end does not fit what stands before it.").At(offset_);
  }
  ended_ = true;
  Drop(kExportEndBytes);
  return {};
}

Result<std::optional<DiskRecord>> ExportReader::Next() {
  std::optional<DiskRecord> none;
  if (!id_) {
    if (buffer_.size() < kDeviceBlockBytes) {
      return none;
    }
    KVCAST_TRY_VOID(ReadHead());
  }
  // An end is longer than a record's header, so that many bytes always come.
  if (!ended_ && buffer_.size() < kExportEndBytes) {
    return none;
  }
  const std::string start =
      buffer_.Slice(0, std::min<size_t>(buffer_.size(), kRecordHeaderBytes)).ToString();
  if (!ended_ && start.starts_with(kEndMagic)) {
    KVCAST_TRY_VOID(ReadEnd());
  }
  if (ended_ && !buffer_.empty()) {
    return Error(ErrorCode::kMalformed, "Something follows the end.").At(offset_);
  }
  if (ended_) {
    return none;
  }
  const RecordSeat seat = SeatAt(*id_, offset_);
  auto header = RecordHeader::Parse(AsBytes(start), seat);
  if (!header.ok() || header->ordinal != static_cast<uint32_t>(records_)) {
    return Error(ErrorCode::kMalformed, "A record is damaged, or is not the next one.").At(offset_);
  }
  const uint64_t length = RecordUp(header->size());
  if (buffer_.size() < length) {
    return none;
  }
  const uint64_t filling = length - header->size();
  if (buffer_.Slice(header->size(), filling) != ZeroBytes(filling)) {
    return Error(ErrorCode::kMalformed, "What fills a record up is not zero.").At(offset_);
  }
  auto parsed = ParseRecord(buffer_.Slice(0, length), seat);
  if (!parsed.ok()) {
    // By where the record begins: what it says of itself counts from there.
    return Error(parsed.error().code(), parsed.error().message()).At(offset_);
  }
  Drop(length);
  ++records_;
  return std::optional(std::move(parsed->record));
}

}  // namespace kvcast
