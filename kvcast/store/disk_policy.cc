#include "kvcast/store/disk_policy.h"

#include <algorithm>

namespace kvcast {

std::optional<uint32_t> OldestFirst::Victim(std::span<const SegmentView> segments,
                                            const DiskIndex& /*index*/) {
  const auto full = [](const SegmentView& view) { return view.live_bytes + view.note_bytes; };
  const auto emptiest = std::ranges::min_element(segments, {}, full);
  return full(*emptiest) <= emptiest->bytes / 4 ? emptiest->segment : segments.front().segment;
}

bool OldestFirst::Keep(const TrackName& /*track*/, uint64_t /*group*/, bool used) { return used; }

}  // namespace kvcast
