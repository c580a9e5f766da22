#include "kvcast/store/removal_bytes.h"

#include <iterator>

namespace kvcast {

RemovalBytes RemovalBytes::In(const SegmentContents& contents, uint32_t segment) {
  RemovalBytes bytes;
  for (const SegmentEntry& entry : contents.entries) {
    if (const auto* removal = std::get_if<Removal>(&entry.body)) {
      bytes.Add(removal->before == DiskPlace() ? segment : removal->before.segment, entry.length);
    }
  }
  return bytes;
}

void RemovalBytes::Add(uint32_t before, uint64_t record_bytes) {
  by_before_[before] += RecordUp(record_bytes);
  if (by_before_.size() > kStepsMax) {
    const auto first = by_before_.begin();
    std::next(first)->second += first->second;
    by_before_.erase(first);
  }
}

uint64_t RemovalBytes::Reaching(uint32_t segment) const {
  uint64_t bytes = 0;
  for (auto at = by_before_.lower_bound(segment); at != by_before_.end(); ++at) {
    bytes += at->second;
  }
  return bytes;
}

}  // namespace kvcast
