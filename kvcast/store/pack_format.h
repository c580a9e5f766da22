#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "kvcast/base/bytes.h"
#include "kvcast/base/result.h"
#include "kvcast/store/disk_format.h"
#include "kvcast/store/pack_horizon.h"
#include "kvcast/store/segment_contents.h"
#include "kvcast/store/segment_footer.h"

// The packs of a bucket tier: docs/reference/bucket-format.md is the contract.
//
//   pack    := header record* zeros body trailer       whole blocks; records as in a segment
//   header  := block    magic "kvcastP\n"   fields := node[16] number:u64 marker:u64
//   body    := written_us:u64 horizon contents
//   trailer := magic[8] version:u32 marker:u64 body_bytes:u32 body_crc32c:u32 number:u32 node[16]
//              pack_bytes:u64 zero[4] crc32c:u32                                       64 bytes
//
// `contents` are those of a segment's footer. A pack is a sealed segment that was put together in
// memory: the same records, good at the one place that they were written for.
namespace kvcast {

inline constexpr uint32_t kPackFormatVersion = 1;
inline constexpr uint64_t kPackBytesMax = uint64_t{1} << 30;
inline constexpr uint64_t kPackBytesMin = 2 * kDeviceBlockBytes;

// Whether they are of one node, whatever start of it.
bool SameNode(const PackNode& a, const PackNode& b);

// Which pack. Its key in the bucket says all of it:
//   <prefix>/v1/<node, 32 hex>/<number, 10 digits>-<marker, 16 hex>.pack
struct PackId {
  PackNode node;
  uint32_t number = 0;  // From 1 on, rising with time, since a start of the node.
  uint64_t marker = 0;  // Random, so that no two packs have one key whatever a node forgot.

  friend auto operator<=>(const PackId&, const PackId&) = default;
  std::string Key(std::string_view prefix) const;
  // Absent: not one of ours.
  static std::optional<PackId> Parse(std::string_view key, std::string_view prefix);
  RecordSeat SeatAt(uint64_t offset) const { return {node, marker, {number, offset}}; }
};

// What all keys of this format begin with.
std::string PackKeyStart(std::string_view prefix);

struct PackHeader {
  PackId id;
  Bytes Encode() const;
  // Unsupported: whole, but of another version. Malformed: damaged.
  static Result<PackHeader> Parse(std::span<const std::byte> block);
};

struct PackTrailer {
  PackId id;
  uint32_t body_bytes = 0;
  uint32_t body_sum = 0;
  uint64_t pack_bytes = 0;

  Bytes Encode() const;
  // Unsupported: whole, but of another version. Malformed: damaged, or it belongs elsewhere.
  static Result<PackTrailer> Parse(std::span<const std::byte> bytes, const PackId& expected,
                                   uint64_t pack_bytes);
};

struct PackBody {
  uint64_t written_us = 0;  // Since 1970: when the last of its objects was received.
  PackHorizon seen;
  SegmentContents contents;

  bool has_removals() const;
};

// `bytes` as the trailer counts them.
Result<PackBody> ParsePackBody(const Bytes& bytes, const PackTrailer& trailer);

// Puts one pack together. Refers to the payloads.
class PackWriter {
 public:
  explicit PackWriter(const PackId& id) : id_(id) {}

  // Whether a pack of so many bytes has room for this record, too.
  bool Fits(uint64_t pack_bytes, const TrackName& track, const RecordDraft& draft,
            const EntryBody& entry) const;
  // Returns where it stands in the pack.
  uint64_t Append(const TrackName& track, const RecordDraft& draft, const EntryBody& entry);
  // The pack as a whole. Nothing may be appended any more.
  Bytes Seal(uint64_t written_us, const PackHorizon& seen);

  const PackId& id() const { return id_; }
  uint32_t record_count() const { return ordinal_; }

 private:
  PackId id_;
  FooterWriter footer_;
  Bytes records_;
  uint32_t ordinal_ = 0;
};

}  // namespace kvcast
