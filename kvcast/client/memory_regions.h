#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>

#include "kvcast/base/result.h"

namespace kvcast {

// Names memory that was registered; never used twice.
using RegionId = uint32_t;

// Memory of an engine that values are read from and written to: registered once, referred to by
// offsets, which are checked. Counts who uses it, so that none is taken away under a transfer.
class MemoryRegions {
 public:
  static constexpr size_t kRegionsMax = 65'536;

  // Invalid: no bytes. Too large: too many are registered.
  Result<RegionId> Add(std::span<std::byte> memory);
  // Not found: there is none of that name. Invalid: somebody uses it.
  Result<void> Remove(RegionId region);
  // Invalid: no such region, or not all within it, whatever these numbers add up to.
  Result<std::span<std::byte>> Place(RegionId region, uint64_t offset, uint64_t length) const;

  // REQUIRES: a region there is; of Release(), as often as it was used.
  void Use(RegionId region);
  void Release(RegionId region);

 private:
  struct Entry {
    std::span<std::byte> memory;
    size_t users = 0;
  };
  std::map<RegionId, Entry> regions_;
  RegionId next_ = 1;
};

}  // namespace kvcast
