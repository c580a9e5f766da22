#include "kvcast/store/segment_scan.h"

#include <algorithm>
#include <cstring>
#include <string>

namespace kvcast {
namespace {

constexpr uint64_t kWindowBytes = 4 << 20;
constexpr size_t kDamagedAtMax = 4096;
// The end of a long run of bad blocks is looked for in leaps, or a segment that is bad all over
// would keep everybody waiting. No more is leapt over than this part of what was bad.
constexpr uint64_t kLeapShare = 16;
// Where bad blocks are scattered, each costs several reads that fail, and a disk takes its time for
// those. After so many of them no less than this part of the segment is read at once, or left out.
constexpr uint64_t kFailuresMax = 256;
constexpr uint64_t kCoarseShare = 128;

}  // namespace

SegmentScan::SegmentScan(const DirectoryId& directory, uint64_t segment, uint64_t marker,
                         uint64_t segment_bytes, uint64_t key_property)
    : seat_{directory, marker, {static_cast<uint32_t>(segment), 0}},
      segment_bytes_(segment_bytes),
      key_property_(key_property),
      window_bytes_(kWindowBytes) {}

void SegmentScan::Damaged(uint64_t offset) {
  ++damaged_;
  if (damaged_at_.size() < kDamagedAtMax) {
    damaged_at_.push_back(offset);
  }
}

void SegmentScan::OnOrdinal(uint32_t ordinal) {
  if (ordinal > next_ordinal_ + damaged_since_) {
    const uint64_t missing = ordinal - next_ordinal_ - damaged_since_;
    Damaged(strange_at_.value_or(end_));
    damaged_ += missing - 1;
  }
  next_ordinal_ = std::max<uint64_t>(next_ordinal_, uint64_t{ordinal} + 1);
  damaged_since_ = 0;
  strange_at_.reset();
}

std::optional<SegmentScan::Window> SegmentScan::Wanted() const {
  if (at_ + kRecordHeaderBytes > segment_bytes_) {
    return std::nullopt;
  }
  const uint64_t offset = BlocksDown(at_);
  const uint64_t length = std::max(window_bytes_, BlocksUp(at_ - offset + record_bytes_));
  return Window{offset, std::min(length, segment_bytes_ - offset)};
}

void SegmentScan::OnWindow(const Window& window, const std::optional<Bytes>& bytes) {
  if (!bytes || bytes->size() != window.length) {
    OnUnreadable(window);
    return;
  }
  if (run_ && !EndsRun(window)) {
    return;
  }
  window_bytes_ = std::min(kWindowBytes, 2 * window_bytes_);
  const std::string flat = bytes->ToString();
  while (at_ + kRecordHeaderBytes <= window.offset + window.length && Step(window, *bytes, flat)) {
  }
}

// One bad block must not cost all that was read with it: less is asked for, until it is found.
void SegmentScan::OnUnreadable(const Window& window) {
  const bool coarse = ++failures_ > kFailuresMax;
  const uint64_t least = coarse ? BlocksUp(segment_bytes_ / kCoarseShare) : kDeviceBlockBytes;
  if (window.length > std::max(least, BlocksUp(at_ - window.offset + record_bytes_))) {
    window_bytes_ = std::max(least, BlocksDown(window.length / 8));
    return;
  }
  unreadable_ = true;
  if (coarse) {
    Damaged(at_);
    ++damaged_since_;
    run_.reset();
    at_ = window.offset + window.length;
    window_bytes_ = least;
    record_bytes_ = kRecordHeaderBytes;
    return;
  }
  if (record_bytes_ > kRecordHeaderBytes) {
    Damaged(at_);  // Its header says how far it reaches.
    at_ += RecordUp(record_bytes_);
    end_ = at_;
    record_bytes_ = kRecordHeaderBytes;
    return;
  }
  if (!run_) {
    run_ = BadRun{.begin = window.offset};
    Damaged(at_);
    ++damaged_since_;
  }
  // Where a header would lie in two blocks, the second is looked at by itself.
  window_bytes_ = kDeviceBlockBytes;
  run_->end = window.offset + std::min(window.length, kDeviceBlockBytes);
  LeapOn();
}

void SegmentScan::LeapOn() {
  const uint64_t last = BlocksDown(segment_bytes_ - kRecordHeaderBytes);
  if (run_->good >= run_->end) {
    at_ = run_->end + BlocksDown((run_->good - run_->end) / 2);
  } else if (run_->end >= last) {
    at_ = run_->end;
  } else {
    at_ = std::min(run_->end + BlocksDown((run_->end - run_->begin) / kLeapShare), last);
  }
}

bool SegmentScan::EndsRun(const Window& window) {
  run_->good = window.offset;
  if (run_->good > run_->end) {
    LeapOn();
    return false;
  }
  run_.reset();
  return true;
}

bool SegmentScan::Step(const Window& window, const Bytes& bytes, const std::string& flat) {
  const uint64_t within = at_ - window.offset;
  uint64_t marker = 0;
  std::memcpy(&marker, flat.data() + within, sizeof(marker));
  record_bytes_ = kRecordHeaderBytes;
  if (marker != seat_.marker) {
    if (marker != 0 && !strange_at_) {
      strange_at_ = at_;
    }
    at_ += kRecordAlignment;
    return true;
  }
  seat_.place.offset = at_;
  const auto header = RecordHeader::Parse(AsBytes(flat).subspan(within, kRecordHeaderBytes), seat_);
  if (!header.ok() || header->size() > segment_bytes_ - at_) {
    Damaged(at_);
    ++damaged_since_;
    at_ += kRecordAlignment;
    return true;
  }
  OnOrdinal(header->ordinal);
  if (within + header->size() > window.length) {
    record_bytes_ = header->size();
    return false;
  }
  const auto parsed = ParseRecord(bytes.Slice(within, header->size()), seat_);
  if (parsed.ok()) {
    builder_.Add(parsed->record.track, at_, header->size(),
                 EntryOf(parsed->record.body, header->payload_sum, key_property_));
  } else {
    Damaged(at_);
  }
  at_ += RecordUp(header->size());
  end_ = at_;
  return true;
}

}  // namespace kvcast
