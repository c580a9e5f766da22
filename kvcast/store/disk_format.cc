#include "kvcast/store/disk_format.h"

#include <algorithm>

#include "kvcast/base/check_sum.h"

namespace kvcast {
namespace {

constexpr BlockKind kSuperblockKind{"kvcastD\n", kDiskFormatVersion, "directory"};
constexpr BlockKind kSegmentKind{"kvcastS\n", kDiskFormatVersion, "directory"};
constexpr size_t kSumBytes = 4;

bool IsSegmentSize(uint64_t bytes) {
  return bytes >= kSegmentBytesMin && bytes <= kSegmentBytesMax && bytes % kDeviceBlockBytes == 0;
}

}  // namespace

Bytes SealBlock(ByteWriter& fields, const BlockKind& kind) {
  ByteWriter writer;
  writer.Write(kind.magic);
  writer.U32Le(kind.version);
  writer.Share(fields.Take());
  writer.Share(ZeroBytes(kDeviceBlockBytes - kSumBytes - writer.size()));
  Bytes block = writer.Take();
  writer.U32Le(Crc32c(block));
  block.Append(writer.Take());
  return block;
}

Result<ByteReader> OpenBlock(std::span<const std::byte> block, const BlockKind& kind) {
  if (block.size() != kDeviceBlockBytes || AsText(block.first(kind.magic.size())) != kind.magic) {
    return Error(ErrorCode::kMalformed, "The block does not begin as one of its kind.");
  }
  ByteReader sum(block.last(kSumBytes));
  if (*sum.U32Le() != Crc32c(block.first(block.size() - kSumBytes))) {
    return Error(ErrorCode::kMalformed, "The block is damaged.");
  }
  ByteReader reader(block);
  KVCAST_TRY_VOID(reader.Skip(kind.magic.size()));
  KVCAST_TRY(const uint32_t version, reader.U32Le());
  if (version != kind.version) {
    return UnknownVersion(version, kind);
  }
  return reader;
}

Error UnknownVersion(uint32_t version, const BlockKind& kind) {
  return {ErrorCode::kUnsupported,
          "It is of version " + std::to_string(version) +
              " of the format, and this program knows version " + std::to_string(kind.version) +
              " only. Nothing was changed: use the program that wrote it, or another " +
              std::string(kind.place) + "."};
}

Bytes ZeroBytes(size_t count) {
  static constexpr std::array<std::byte, kDeviceBlockBytes> kZeros{};
  Bytes zeros;
  while (zeros.size() < count) {
    zeros.Append(Bytes::Copy(
        std::span(kZeros).first(std::min<size_t>(kDeviceBlockBytes, count - zeros.size()))));
  }
  return zeros;
}

Bytes Superblock::Encode() const {
  ByteWriter fields;
  fields.Write(directory.bytes);
  fields.U8(static_cast<uint8_t>(disk_class));
  fields.Share(ZeroBytes(7));
  fields.U64Le(segment_bytes);
  Bytes twice = SealBlock(fields, kSuperblockKind);
  twice.Append(twice);
  return twice;
}

Result<Superblock> Superblock::Parse(std::span<const std::byte> block) {
  KVCAST_TRY(ByteReader reader, OpenBlock(block, kSuperblockKind));
  Superblock found;
  KVCAST_TRY_VOID(reader.Read(found.directory.bytes));
  KVCAST_TRY(const uint8_t disk_class, reader.U8());
  KVCAST_TRY_VOID(reader.Skip(7));
  KVCAST_TRY(found.segment_bytes, reader.U64Le());
  if (disk_class > static_cast<uint8_t>(DiskClass::kHdd) || !IsSegmentSize(found.segment_bytes)) {
    return Error(ErrorCode::kMalformed, "The superblock's fields make no sense.");
  }
  found.disk_class = static_cast<DiskClass>(disk_class);
  return found;
}

Bytes SegmentHeader::Encode() const {
  ByteWriter fields;
  fields.Write(directory.bytes);
  fields.U64Le(segment);
  fields.U64Le(bytes);
  fields.U64Le(marker);
  return SealBlock(fields, kSegmentKind);
}

Result<SegmentHeader> SegmentHeader::Parse(std::span<const std::byte> block) {
  KVCAST_TRY(ByteReader reader, OpenBlock(block, kSegmentKind));
  SegmentHeader found;
  KVCAST_TRY_VOID(reader.Read(found.directory.bytes));
  KVCAST_TRY(found.segment, reader.U64Le());
  KVCAST_TRY(found.bytes, reader.U64Le());
  KVCAST_TRY(found.marker, reader.U64Le());
  if (!IsSegmentSize(found.bytes) || found.segment == 0 || found.segment > kSegmentNumberMax) {
    return Error(ErrorCode::kMalformed, "The segment header's fields make no sense.");
  }
  return found;
}

uint32_t PlaceSum(const DirectoryId& directory, uint64_t segment, uint64_t offset) {
  ByteWriter place;
  place.Write(directory.bytes);
  place.U64Le(segment);
  place.U64Le(offset);
  return Crc32c(place.Take());
}

std::string DiskFileName(DeviceFile file) {
  return file == kSuperblockFile ? "superblock" : "segment " + std::to_string(file);
}

}  // namespace kvcast
