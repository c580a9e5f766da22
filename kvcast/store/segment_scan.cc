#include "kvcast/store/segment_scan.h"

#include <algorithm>
#include <cstring>
#include <string>

namespace kvcast {
namespace {

constexpr uint64_t kWindowBytes = 4 << 20;
constexpr size_t kDamagedAtMax = 4096;

}  // namespace

SegmentScan::SegmentScan(const DirectoryId& directory, uint64_t segment, uint64_t marker,
                         uint64_t segment_bytes, uint64_t key_property)
    : seat_{directory, marker, {static_cast<uint32_t>(segment), 0}},
      segment_bytes_(segment_bytes),
      key_property_(key_property) {}

void SegmentScan::Damaged(uint64_t offset) {
  ++damaged_;
  if (damaged_at_.size() < kDamagedAtMax) {
    damaged_at_.push_back(offset);
  }
}

std::optional<SegmentScan::Window> SegmentScan::Wanted() const {
  if (at_ + kRecordHeaderBytes > segment_bytes_) {
    return std::nullopt;
  }
  const uint64_t offset = BlocksDown(at_);
  const uint64_t length = std::max(kWindowBytes, BlocksUp(at_ - offset + record_bytes_));
  return Window{offset, std::min(length, segment_bytes_ - offset)};
}

void SegmentScan::OnWindow(const Window& window, const std::optional<Bytes>& bytes) {
  if (!bytes || bytes->size() != window.length) {
    Damaged(window.offset);
    at_ = window.offset + window.length;
    record_bytes_ = kRecordHeaderBytes;
    return;
  }
  const std::string flat = bytes->ToString();
  while (at_ + kRecordHeaderBytes <= window.offset + window.length && Step(window, *bytes, flat)) {
  }
}

bool SegmentScan::Step(const Window& window, const Bytes& bytes, const std::string& flat) {
  const uint64_t within = at_ - window.offset;
  uint64_t marker = 0;
  std::memcpy(&marker, flat.data() + within, sizeof(marker));
  record_bytes_ = kRecordHeaderBytes;
  if (marker != seat_.marker) {
    at_ += kRecordAlignment;
    return true;
  }
  seat_.place.offset = at_;
  const auto header = RecordHeader::Parse(AsBytes(flat).subspan(within, kRecordHeaderBytes), seat_);
  if (!header.ok() || header->size() > segment_bytes_ - at_) {
    Damaged(at_);
    at_ += kRecordAlignment;
    return true;
  }
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
  return true;
}

}  // namespace kvcast
