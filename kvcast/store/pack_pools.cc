#include "kvcast/store/pack_pools.h"

#include <algorithm>

#include "kvcast/store/ram_pools.h"

namespace kvcast {

void PackOwner::Add(uint32_t its_pool, bool is_removal) {
  mixed = mixed || (any && pool != its_pool);
  pool = mixed ? PackPools::kCommon : its_pool;
  any = true;
  const auto place = std::ranges::lower_bound(removes, its_pool);
  if (is_removal && (place == removes.end() || *place != its_pool)) {
    removes.insert(place, its_pool);
  }
}

bool PackOwner::RemovesFrom(const PackOwner& other) const {
  // Of what could not be read nobody knows whose it is.
  const bool anybodys = other.mixed || !other.any;
  return anybodys || std::ranges::binary_search(removes, other.pool);
}

PackPools::PackPools(const std::map<std::string, uint64_t>& reservations) : reserved_{0} {
  for (const auto& [tenant, bytes] : reservations) {
    by_tenant_.emplace(tenant, static_cast<uint32_t>(reserved_.size()));
    reserved_.push_back(bytes);
  }
}

uint32_t PackPools::Of(const TrackName& track) const {
  const auto found = by_tenant_.find(RamPools::TenantOf(track));
  return found == by_tenant_.end() ? kCommon : found->second;
}

PackOwner PackPools::OwnerOf(const SegmentContents& contents) const {
  PackOwner owner;
  for (const SegmentEntry& entry : contents.entries) {
    owner.Add(Of(contents.track_of(entry)), std::holds_alternative<Removal>(entry.body));
  }
  return owner;
}

}  // namespace kvcast
