#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "kvcast/base/bytes.h"
#include "kvcast/store/segment_contents.h"

namespace kvcast {

// Finds a segment's records without its footer, by reading it from its beginning to its end.
//
// A power cut leaves holes, and damage can be anywhere: what is not a record is stepped over until
// one begins again, which its marker tells.
class SegmentScan {
 public:
  struct Window {
    uint64_t offset = 0;
    uint64_t length = 0;
  };

  SegmentScan(const DirectoryId& directory, uint64_t segment, uint64_t marker,
              uint64_t segment_bytes, uint64_t key_property);

  // What to read next: whole blocks; absent when all has been seen.
  std::optional<Window> Wanted() const;
  // What was read there; absent if it cannot be read.
  void OnWindow(const Window& window, const std::optional<Bytes>& bytes);

  // REQUIRES: nothing is wanted.
  SegmentContents Take() { return builder_.Take(); }
  // Records whose contents are damaged, and windows that cannot be read.
  uint64_t damaged() const { return damaged_; }
  // Where the first of them are.
  const std::vector<uint64_t>& damaged_at() const { return damaged_at_; }

 private:
  void Damaged(uint64_t offset);
  // Looks at what begins at at_; false if more must be read for that.
  bool Step(const Window& window, const Bytes& bytes, const std::string& flat);

  RecordSeat seat_;
  uint64_t segment_bytes_;
  uint64_t key_property_;
  uint64_t at_ = kDeviceBlockBytes;
  uint64_t record_bytes_ = kRecordHeaderBytes;  // Of what begins at at_, as far as it is known.
  uint64_t damaged_ = 0;
  std::vector<uint64_t> damaged_at_;
  ContentsBuilder builder_;
};

}  // namespace kvcast
