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
  // Records whose contents are damaged or cannot be read, and runs of blocks of which that is all
  // that is known.
  uint64_t damaged() const { return damaged_; }
  // There are blocks that cannot be read, so there may be more records.
  bool unreadable() const { return unreadable_; }
  // Where the first of them are. Ordinals tell of records of which nothing is left to be seen.
  const std::vector<uint64_t>& damaged_at() const { return damaged_at_; }
  // Behind the last record something stands that is none: torn, damaged, or what remains of a
  // footer.
  std::optional<uint64_t> tail_at() const {
    return damaged_since_ == 0 ? strange_at_ : std::nullopt;
  }

 private:
  // Blocks that cannot be read, next to each other.
  struct BadRun {
    uint64_t begin = 0;
    uint64_t end = 0;   // Of what is known to be bad.
    uint64_t good = 0;  // What was read behind that; 0: nothing yet.
  };

  void Damaged(uint64_t offset);
  // A header of this ordinal stands here.
  void OnOrdinal(uint32_t ordinal);
  void OnUnreadable(const Window& window);
  // Looks for the end of the run that is being stepped over; true if it is here.
  bool EndsRun(const Window& window);
  void LeapOn();
  // Looks at what begins at at_; false if more must be read for that.
  bool Step(const Window& window, const Bytes& bytes, const std::string& flat);

  RecordSeat seat_;
  uint64_t segment_bytes_;
  uint64_t key_property_;
  uint64_t at_ = kDeviceBlockBytes;
  uint64_t record_bytes_ = kRecordHeaderBytes;  // Of what begins at at_, as far as it is known.
  uint64_t window_bytes_;
  bool unreadable_ = false;
  uint64_t failures_ = 0;  // Reads that failed.
  std::optional<BadRun> run_;
  uint64_t damaged_ = 0;
  uint64_t next_ordinal_ = 0;
  uint64_t damaged_since_ = 0;          // Without a header that tells its ordinal.
  uint64_t end_ = kDeviceBlockBytes;    // Of the last record that has one.
  std::optional<uint64_t> strange_at_;  // Behind that, what is neither record nor zeros.
  std::vector<uint64_t> damaged_at_;
  ContentsBuilder builder_;
};

}  // namespace kvcast
