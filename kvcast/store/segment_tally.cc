#include "kvcast/store/segment_tally.h"

#include <algorithm>

#include "kvcast/base/check.h"

namespace kvcast {

void SegmentTally::Add(uint64_t handle, std::span<const SegmentShare> lies) {
  const bool is_new =
      groups_.try_emplace(handle, lies.begin(), lies.end(), CountedAllocator<SegmentShare>(&bytes_))
          .second;
  KVCAST_CHECK(is_new);
  std::ranges::for_each(lies, [&](const SegmentShare& share) { Count(share); });
}

void SegmentTally::Discount(const SegmentShare& share) {
  const auto bytes = segments_.find(share.segment);
  KVCAST_CHECK(bytes != segments_.end() && bytes->second >= share.bytes);
  bytes->second -= share.bytes;
  if (bytes->second == 0) {
    segments_.erase(bytes);
  }
}

void SegmentTally::Remove(uint64_t handle) {
  const auto found = groups_.find(handle);
  KVCAST_CHECK(found != groups_.end());
  for (const SegmentShare& share : found->second) {
    if (share.bytes > 0) {
      Discount(share);
    }
  }
  groups_.erase(found);
}

void SegmentTally::Move(uint64_t handle, uint32_t from, const SegmentShare& to) {
  const auto found = groups_.find(handle);
  if (found == groups_.end()) {
    return;
  }
  Shares& shares = found->second;
  const auto left = std::ranges::find(shares, from, &SegmentShare::segment);
  if (left == shares.end() || left->bytes < to.bytes) {
    return;  // It came there after the group was counted.
  }
  left->bytes -= to.bytes;
  Discount({from, to.bytes});
  auto here = std::ranges::find(shares, to.segment, &SegmentShare::segment);
  here = here == shares.end() ? shares.insert(here, {to.segment, 0}) : here;
  here->bytes += to.bytes;
  Count(to);
}

uint64_t SegmentTally::BytesIn(uint32_t segment) const {
  const auto found = segments_.find(segment);
  return found == segments_.end() ? 0 : found->second;
}

}  // namespace kvcast
