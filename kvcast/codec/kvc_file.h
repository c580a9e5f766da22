#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "kvcast/base/result.h"
#include "kvcast/codec/track_format.h"

namespace kvcast {

// A coded cache as a file: the track's properties, then its objects, and nothing that would not
// travel.
//
//   file   := "KVC1" properties object*
//   object := properties payload:text           text := length:vi64 bytes
//   properties := text, of MoQT's key-value pairs: the track's hold its format, an object's
//                 PRIOR_OBJECT_ID_GAP where objects hold runs of tokens
//
// Objects stand in the order of groups and ids, from 0, so that their locations need no saying; a
// file holds whole blocks, at least one.

// What a file of a track begins with.
std::string KvcOpening(const TrackFormat& format);
// What stands before an object's payload.
std::string KvcObjectOpening(const TrackFormat& format, uint32_t first_token, size_t payload_bytes);

// Such a file, read where it lies.
class KvcFile {
 public:
  static constexpr size_t kBlocksMax = 1 << 24;

  // Refers to `file`, which must outlive the result. The payloads are not looked at: that is for
  // whoever decodes them.
  static Result<KvcFile> Parse(std::span<const std::byte> file);

  const TrackFormat& format() const { return format_; }
  size_t blocks() const { return payloads_.size() / objects_per_block(); }
  size_t objects_per_block() const {
    return (format_.block_tokens + format_.run_tokens - 1) / format_.run_tokens;
  }
  // REQUIRES: both are there.
  std::span<const std::byte> Payload(size_t block, size_t object) const;
  // Where it lies in the file, for errors.
  uint64_t Place(size_t block, size_t object) const;

 private:
  Result<void> ReadObjects(std::span<const std::byte> file, uint64_t at);

  TrackFormat format_;
  const std::byte* begin_ = nullptr;
  std::vector<std::span<const std::byte>> payloads_;
};

}  // namespace kvcast
