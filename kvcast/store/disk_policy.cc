#include "kvcast/store/disk_policy.h"

#include <algorithm>

namespace kvcast {

std::optional<uint32_t> OldestFirst::Victim(std::span<const SegmentView> segments,
                                            const DiskIndex& /*index*/) {
  const auto emptiest = std::ranges::min_element(segments, {}, &SegmentView::live_bytes);
  return emptiest->live_bytes <= emptiest->bytes / 4 ? emptiest->segment : segments.front().segment;
}

bool OldestFirst::Keep(const TrackName& /*track*/, uint64_t /*group*/, bool used) { return used; }

}  // namespace kvcast
