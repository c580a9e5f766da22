#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>

#include "kvcast/base/byte_writer.h"
#include "kvcast/base/bytes.h"
#include "kvcast/base/result.h"
#include "kvcast/store/segment_contents.h"

namespace kvcast {

// The end of a sealed segment: what it holds, so that a start need not read its records. Written
// only once all of its records are durable, so a footer also says that they are.
//
//   footer  := zeros body trailer                        whole blocks, the last of the file
//   body    := count:vi64 track_name[count] count:vi64 entry[count]
//   entry   := kind:u8 track:vi64 offset_in_8_bytes:vi64 length:vi64 fields
//   fields  := a record's body; of an object instead
//              group:vi64 object:vi64 payload_bytes:vi64 identity:u32 has_key:u8 [key[32]]
//   trailer := magic[8] marker:u64 body_bytes:u32 body_crc32c:u32 zero[36] crc32c:u32
//
// The trailer's sum begins with its place, like a record's.
inline constexpr uint64_t kTrailerBytes = 64;

struct FooterTrailer {
  uint64_t marker = 0;
  uint32_t body_bytes = 0;
  uint32_t body_sum = 0;

  uint64_t footer_bytes() const { return BlocksUp(body_bytes + kTrailerBytes); }
  // The last bytes of a segment's file. Malformed: it has not been sealed, or is damaged.
  static Result<FooterTrailer> Parse(std::span<const std::byte> bytes, const DirectoryId& directory,
                                     uint64_t segment, uint64_t segment_bytes);
};

// `footer` as the trailer counts it, with the trailer itself.
Result<SegmentContents> ParseFooter(const Bytes& footer, const FooterTrailer& trailer,
                                    uint64_t segment_bytes);

// The contents of a footer's body. Leaves the reader behind them.
Result<SegmentContents> ReadContents(ByteReader& reader, uint64_t segment_bytes);

// Collects a footer while its segment is being written.
class FooterWriter {
 public:
  // What the footer would take at most, were this entry added.
  uint64_t BytesWith(const TrackName& track, const EntryBody& body) const;
  void Add(const TrackName& track, uint64_t offset, uint64_t length, const EntryBody& body);

  // Memory that this takes.
  uint64_t bytes() const { return names_.size() + entries_.size() + 128 * tracks_.size(); }
  // The body alone, as ReadContents() reads it. The writer is empty again.
  Bytes TakeBody();
  // Whole blocks. The writer is empty again.
  Bytes Encode(const DirectoryId& directory, uint64_t segment, uint64_t segment_bytes,
               uint64_t marker);

 private:
  ByteWriter names_;
  ByteWriter entries_;
  std::map<TrackName, uint32_t> tracks_;
  uint64_t entry_count_ = 0;
};

}  // namespace kvcast
