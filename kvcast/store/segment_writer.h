#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>

#include "kvcast/base/bytes.h"
#include "kvcast/store/device.h"
#include "kvcast/store/segment_contents.h"
#include "kvcast/store/segment_footer.h"

namespace kvcast {

// Writes one segment from its beginning to its end, once: no block is ever written again, so a
// power cut cannot hurt what was made durable before.
//
// Records are gathered while the blocks of earlier ones are written or synced, and then committed
// together. A failed write or sync is the segment's end: nothing more is written to it, nothing is
// tried again, and what was not durable by then never is.
class SegmentWriter {
 public:
  // The file has been created. The outbox must outlive this.
  SegmentWriter(const SegmentHeader& header, DeviceOutbox& outbox);

  // Whether a record fits, with the footer that it makes longer, and so many bytes left over.
  bool Fits(const TrackName& track, const RecordDraft& draft, const EntryBody& entry,
            uint64_t spare = 0) const;
  // Whether it would fit an empty segment of this size.
  static bool FitsEmpty(uint64_t segment_bytes, const TrackName& track, const RecordDraft& draft,
                        const EntryBody& entry);

  // Returns where it will stand. REQUIRES: it fits; not sealing; not failed.
  DiskPlace Append(const TrackName& track, const RecordDraft& draft, const EntryBody& entry);
  // No record comes any more: the footer follows when all are durable.
  void Seal();

  // Asks the device for what is due. Call after every input.
  void Pump();
  // False: not of this writer.
  bool OnCompletion(const DeviceCompletion& completion);

  // Records that begin before this are durable.
  uint64_t durable() const { return durable_; }
  uint64_t end() const { return buffer_start_ + buffer_.size(); }
  bool sealing() const { return sealing_; }
  bool sealed() const { return sealed_; }
  // What went wrong, if something did.
  const std::optional<DeviceError>& failure() const { return failure_; }
  // Nothing is under way at the device any more.
  bool idle() const { return writes_.empty() && sync_ == 0; }
  uint32_t segment() const { return static_cast<uint32_t>(header_.segment); }
  const SegmentHeader& header() const { return header_; }
  // Memory beside the records that wait.
  uint64_t index_bytes() const { return footer_.bytes(); }

 private:
  enum class Phase : uint8_t { kRecords, kFooter, kFooterSync };

  void PadToBlock();
  void WriteUpTo(uint64_t bytes);
  bool WritesBefore(uint64_t offset) const;

  SegmentHeader header_;
  DeviceOutbox* outbox_;
  FooterWriter footer_;
  Bytes buffer_;  // What is not handed to the device yet, from buffer_start_ on.
  uint64_t buffer_start_ = 0;
  uint32_t ordinal_ = 0;
  std::map<DeviceToken, uint64_t> writes_;  // By where each begins.
  std::deque<uint64_t> commit_ends_;        // Where groups of records end that wait for their sync.
  std::optional<uint64_t> commit_;          // Blocks before this are to be made durable,
  DeviceToken sync_ = 0;                    // which is under way.
  uint64_t durable_ = 0;
  bool sealing_ = false;
  bool sealed_ = false;
  Phase phase_ = Phase::kRecords;
  std::optional<DeviceError> failure_;
};

}  // namespace kvcast
