#include "kvcast/store/ram_pools.h"

#include <utility>

namespace kvcast {
namespace {

size_t NameBytes(std::string_view text) { return text.size() < 16 ? 0 : text.size() + 1; }

}  // namespace

Result<std::unique_ptr<RamPools>> RamPools::Of(const RamPoolsOptions& options) {
  std::unique_ptr<RamPools> pools(new RamPools(options));
  KVCAST_TRY_VOID(pools->AddPool(options, "", 0));
  pools->common_ = &pools->pools_.begin()->second;
  for (const auto& [tenant, reserved] : options.reservations) {
    if (tenant.empty()) {
      return Error(ErrorCode::kInvalid, "Bytes are reserved for a tenant without a name.");
    }
    KVCAST_TRY_VOID(pools->AddPool(options, tenant, reserved));
  }
  return pools;
}

Result<void> RamPools::AddPool(const RamPoolsOptions& options, const std::string& tenant,
                               uint64_t reserved) {
  KVCAST_TRY(std::unique_ptr<Eviction> eviction, MakeEviction(options.eviction, options.limits));
  RamPool& pool = pools_.try_emplace(tenant, &list_bytes_).first->second;
  pool.reserved = reserved;
  eviction_bytes_ += eviction->bytes();
  list_bytes_ += NameBytes(tenant);
  pool.eviction = std::move(eviction);
  return {};
}

std::string_view RamPools::TenantOf(const TrackName& track) {
  if (track.space().field_count() < 2) {
    return {};
  }
  const std::string_view field = track.space().field(1);
  return field.substr(0, field.find('/'));
}

RamPool& RamPools::PoolOf(std::string_view tenant) {
  const auto found = pools_.find(tenant);
  return found == pools_.end() ? *common_ : found->second;
}

template <typename Call>
void RamPools::Tell(const RamGroup& group, Call call) {
  Eviction& eviction = *group.track->pool->eviction;
  eviction_bytes_ -= eviction.bytes();
  call(eviction);
  eviction_bytes_ += eviction.bytes();
}

void RamPools::Add(RamGroup& group) {
  RamPool& pool = *group.track->pool;
  pool.bytes += group.bytes;
  if (group.track->kept) {
    group.state = RamGroup::State::kKept;
    return;
  }
  group.arrival = pool.arriving.insert(pool.arriving.end(), &group);
  pool.arriving_bytes += group.bytes;
}

void RamPools::OnChange(RamGroup& group, size_t bytes_before) {
  RamPool& pool = *group.track->pool;
  pool.bytes += group.bytes - bytes_before;
  if (group.state == RamGroup::State::kResting && group.bytes != bytes_before) {
    Tell(group, [&](Eviction& eviction) { eviction.Resize(group.handle, group.bytes); });
  }
  if (group.state != RamGroup::State::kArriving) {
    return;
  }
  pool.arriving_bytes += group.bytes - bytes_before;
  if (group.whole()) {
    Rest(group);
  }
  while (pool.arriving_bytes > arriving_bytes_max_) {
    Rest(*pool.arriving.front());
  }
}

void RamPools::OnBegun(RamGroup& group) {
  group.begun = true;
  if (group.state == RamGroup::State::kResting && group.key) {
    Leave(group, false);
    group.state = RamGroup::State::kArriving;
    group.arrival = group.track->pool->arriving.insert(group.track->pool->arriving.end(), &group);
    group.track->pool->arriving_bytes += group.bytes;
  }
}

void RamPools::Rest(RamGroup& group) {
  RamPool& pool = *group.track->pool;
  pool.arriving_bytes -= group.bytes;
  pool.arriving.erase(group.arrival);
  group.state = RamGroup::State::kResting;
  group.handle = handles_.Add(group.track->name(), group.number, group.key, &group);
  Tell(group, [&](Eviction& eviction) {
    eviction.Insert({group.handle, group.track->serial, group.number, group.bytes});
  });
}

void RamPools::Hit(RamGroup& group) {
  if (group.state == RamGroup::State::kResting) {
    Tell(group, [&](Eviction& eviction) { eviction.Hit(group.handle); });
  }
}

void RamPools::Pin(RamGroup& group) {
  Tell(group, [&](Eviction& eviction) { eviction.Pin(group.handle); });
}

void RamPools::Unpin(RamGroup& group) {
  Tell(group, [&](Eviction& eviction) { eviction.Unpin(group.handle); });
}

void RamPools::Leave(RamGroup& group, bool remembered) {
  if (group.state == RamGroup::State::kArriving) {
    group.track->pool->arriving_bytes -= group.bytes;
    group.track->pool->arriving.erase(group.arrival);
  } else if (group.state == RamGroup::State::kResting) {
    Tell(group, [&](Eviction& eviction) {
      remembered ? eviction.Evict(group.handle) : eviction.Forget(group.handle);
    });
    handles_.Remove(group.handle);
  }
}

void RamPools::Keep(RamGroup& group) {
  Leave(group, false);
  group.state = RamGroup::State::kKept;
}

// What never began has no name to come back under.
void RamPools::Remove(RamGroup& group, bool evicted) {
  Leave(group, evicted && group.begun);
  group.track->pool->bytes -= group.bytes;
  if (evicted) {
    const TrackName& track = group.track->name();
    evicted_.push_back({track, group.number});
    list_bytes_ += NameBytes(track.space().packed()) + NameBytes(track.name());
  }
}

std::vector<EvictedGroup> RamPools::TakeEvicted() {
  std::vector<EvictedGroup> taken;
  taken.reserve(evicted_.size());
  for (EvictedGroup& group : evicted_) {
    list_bytes_ -= NameBytes(group.track.space().packed()) + NameBytes(group.track.name());
    taken.push_back(std::move(group));
  }
  evicted_.clear();
  return taken;
}

RamGroup* RamPools::VictimOf(RamPool& pool, const RamGroup* keep) {
  if (const std::optional<uint64_t> handle = pool.eviction->Victim()) {
    return handles_.At(*handle);
  }
  for (RamGroup* const group : pool.arriving) {
    if (group != keep) {
      return group;
    }
  }
  return nullptr;
}

RamGroup* RamPools::Victim(RamPool& newcomer, const RamGroup* keep) {
  RamGroup* victim = nullptr;
  uint64_t most = 0;
  for (auto& [tenant, pool] : pools_) {
    const uint64_t beyond = pool.bytes > pool.reserved ? pool.bytes - pool.reserved : 0;
    if (beyond <= most) {
      continue;
    }
    RamGroup* const next = VictimOf(pool, keep);
    if (next != nullptr && (&pool == &newcomer || next->bytes <= beyond)) {
      victim = next;
      most = beyond;
    }
  }
  return victim != nullptr ? victim : VictimOf(newcomer, keep);
}

size_t RamPools::bytes() const {
  return sizeof(*this) + list_bytes_ + eviction_bytes_ + handles_.bytes();
}

}  // namespace kvcast
