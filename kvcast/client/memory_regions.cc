#include "kvcast/client/memory_regions.h"

#include <string>

#include "kvcast/base/check.h"

namespace kvcast {

Result<RegionId> MemoryRegions::Add(std::span<std::byte> memory) {
  if (memory.data() == nullptr || memory.empty()) {
    return Error(ErrorCode::kInvalid, "Memory that is registered has an address and a size.");
  }
  if (regions_.size() >= kRegionsMax || next_ == 0) {
    return Error(ErrorCode::kTooLarge, "There are too many registered regions already.");
  }
  const RegionId region = next_++;
  regions_.emplace(region, Entry{memory});
  return region;
}

Result<void> MemoryRegions::Remove(RegionId region) {
  const auto found = regions_.find(region);
  if (found == regions_.end()) {
    return Error(ErrorCode::kNotFound, "There is no region " + std::to_string(region) + ".");
  }
  if (found->second.users > 0) {
    return Error(ErrorCode::kInvalid, "Region " + std::to_string(region) +
                                          " is in use: cancel its batches, or wait for them.");
  }
  regions_.erase(found);
  return {};
}

Result<std::span<std::byte>> MemoryRegions::Place(RegionId region, uint64_t offset,
                                                  uint64_t length) const {
  const auto found = regions_.find(region);
  if (found == regions_.end()) {
    return Error(ErrorCode::kInvalid, "There is no region " + std::to_string(region) + ".");
  }
  const std::span<std::byte> memory = found->second.memory;
  if (offset > memory.size() || length > memory.size() - offset) {
    return Error(ErrorCode::kInvalid, "Bytes " + std::to_string(offset) + " and " +
                                          std::to_string(length) + " more are not all in region " +
                                          std::to_string(region) + ", which has " +
                                          std::to_string(memory.size()) + ".");
  }
  return memory.subspan(offset, length);
}

void MemoryRegions::Use(RegionId region) {
  const auto found = regions_.find(region);
  KVCAST_CHECK(found != regions_.end());
  ++found->second.users;
}

void MemoryRegions::Release(RegionId region) {
  const auto found = regions_.find(region);
  KVCAST_CHECK(found != regions_.end() && found->second.users > 0);
  --found->second.users;
}

}  // namespace kvcast
