#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "kvcast/base/byte_reader.h"
#include "kvcast/base/byte_writer.h"
#include "kvcast/base/bytes.h"
#include "kvcast/base/result.h"
#include "kvcast/store/device.h"

// The files of a disk tier: docs/reference/disk-format.md is the contract.
//
//   directory  := superblock segment*
//   superblock := block block                 the same twice, file 0
//   segment    := block record* zeros footer  file n is segment n, and n is never used again
//   block      := magic[8] version:u32 fields zeros crc32c:u32       4,096 bytes, little-endian
namespace kvcast {

inline constexpr uint32_t kDiskFormatVersion = 1;
inline constexpr DeviceFile kSuperblockFile = 0;
inline constexpr uint64_t kSuperblockBytes = 2 * kDeviceBlockBytes;
inline constexpr uint64_t kSegmentBytesMin = 8 * kDeviceBlockBytes;
inline constexpr uint64_t kSegmentBytesMax = uint64_t{1} << 34;
inline constexpr uint64_t kSegmentNumberMax = UINT32_MAX;

// 16 random bytes that tell one directory's records from another's.
struct DirectoryId {
  std::array<std::byte, 16> bytes{};
  friend auto operator<=>(const DirectoryId&, const DirectoryId&) = default;
};

enum class DiskClass : uint8_t { kSsd = 0, kHdd = 1 };

// A block of a kind: its magic, 8 bytes, and the version of its format in front of the fields.
struct BlockKind {
  std::string_view magic;
  uint32_t version = 0;
  std::string_view place;  // Where else to go with another version: "directory".
};
Bytes SealBlock(ByteWriter& fields, const BlockKind& kind);
// The fields of a block. Unsupported: whole, but of another version. Malformed: damaged.
Result<ByteReader> OpenBlock(std::span<const std::byte> block, const BlockKind& kind);
// Why a version is refused.
Error UnknownVersion(uint32_t version, const BlockKind& kind);

// superblock's fields := directory[16] class:u8 zero[7] segment_bytes:u64
struct Superblock {
  DirectoryId directory;
  DiskClass disk_class = DiskClass::kSsd;
  uint64_t segment_bytes = 0;

  friend bool operator==(const Superblock&, const Superblock&) = default;
  // Both blocks.
  Bytes Encode() const;
  // Of one block. Unsupported: whole, but of another version. Malformed: damaged.
  static Result<Superblock> Parse(std::span<const std::byte> block);
};

// header's fields := directory[16] segment:u64 segment_bytes:u64 marker:u64
//
// The marker is drawn at random when a segment is made, and stands in front of each of its records.
// So what an older file left in the same sectors is nobody's record, and no payload can pretend to
// hold one, since its publisher does not know the marker.
struct SegmentHeader {
  DirectoryId directory;
  uint64_t segment = 0;
  uint64_t bytes = 0;
  uint64_t marker = 0;

  friend bool operator==(const SegmentHeader&, const SegmentHeader&) = default;
  Bytes Encode() const;
  static Result<SegmentHeader> Parse(std::span<const std::byte> block);
};

// A place's own start of a check sum: bytes that were meant for another place do not pass at this.
uint32_t PlaceSum(const DirectoryId& directory, uint64_t segment, uint64_t offset);

constexpr uint64_t BlocksUp(uint64_t bytes) {
  return (bytes + kDeviceBlockBytes - 1) / kDeviceBlockBytes * kDeviceBlockBytes;
}
constexpr uint64_t BlocksDown(uint64_t bytes) {
  return bytes / kDeviceBlockBytes * kDeviceBlockBytes;
}

// "superblock", "segment 17": for messages.
std::string DiskFileName(DeviceFile file);

// So many zeros.
Bytes ZeroBytes(size_t count);

}  // namespace kvcast
