#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "kvcast/store/counted_allocator.h"
#include "kvcast/store/disk_index.h"

namespace kvcast {

// Where the groups of one sort lie, and how many of their bytes in each segment: so that nobody has
// to look for them.
class SegmentTally {
 public:
  using Shares = std::vector<SegmentShare, CountedAllocator<SegmentShare>>;

  SegmentTally() = default;
  SegmentTally(const SegmentTally&) = delete;
  SegmentTally& operator=(const SegmentTally&) = delete;

  // REQUIRES: it is not here.
  void Add(uint64_t handle, std::span<const SegmentShare> lies);
  // REQUIRES, as At(): it is here.
  void Remove(uint64_t handle);
  const Shares& At(uint64_t handle) const { return groups_.at(handle); }
  bool Has(uint64_t handle) const { return groups_.contains(handle); }
  // A record of a group, if it is here, was moved out of a segment, to where the share says.
  void Move(uint64_t handle, uint32_t from, const SegmentShare& to);

  uint64_t BytesIn(uint32_t segment) const;
  size_t size() const { return groups_.size(); }
  size_t bytes() const { return bytes_; }  // Of memory, beside the object itself.

 private:
  template <typename Key, typename Value>
  using Map = std::map<Key, Value, std::less<>, CountedAllocator<std::pair<const Key, Value>>>;

  void Count(const SegmentShare& share) { segments_[share.segment] += share.bytes; }
  void Discount(const SegmentShare& share);

  size_t bytes_ = 0;
  Map<uint64_t, Shares> groups_{CountedAllocator<std::pair<const uint64_t, Shares>>(&bytes_)};
  Map<uint32_t, uint64_t> segments_{CountedAllocator<std::pair<const uint32_t, uint64_t>>(&bytes_)};
};

}  // namespace kvcast
