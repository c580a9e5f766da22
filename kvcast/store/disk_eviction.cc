#include "kvcast/store/disk_eviction.h"

#include <algorithm>
#include <utility>

#include "kvcast/base/check.h"
#include "kvcast/store/disk_index.h"
#include "kvcast/store/ram_pools.h"

namespace kvcast {
namespace {

// So many victims in one go, so that nobody waits long for the loop; the next time goes on.
constexpr size_t kCondemnedAtOnce = 16384;
// Of what may be remembered of groups that are gone, one part in so many is for those that were
// spare.
constexpr size_t kSpareGhostsPart = 4;

}  // namespace

Result<std::unique_ptr<DiskEviction>> DiskEviction::Of(const DiskEvictionOptions& options) {
  std::unique_ptr<DiskEviction> made(new DiskEviction(options.secret));
  EvictionLimits limits = options.limits;
  limits.ghosts_max /= options.reservations.size() + 1;
  uint64_t left = options.limits.bytes_max / 2;
  std::map<std::string, uint64_t> tenants = options.reservations;
  tenants.emplace("", 0);
  for (const auto& [tenant, reserved] : tenants) {
    if (reserved > left) {
      return Error(ErrorCode::kInvalid, "Tenants reserve more than half of the disk; '" + tenant +
                                            "' is the first not to fit.");
    }
    left -= reserved;
    Pool& pool = made->pools_[tenant];
    pool.reserved = reserved;
    EvictionLimits spare = limits;
    spare.ghosts_max /= kSpareGhostsPart;
    EvictionLimits rest = limits;
    rest.ghosts_max -= spare.ghosts_max;
    KVCAST_TRY(pool.eviction, MakeEviction(options.eviction, rest));
    KVCAST_TRY(pool.spare, MakeEviction(options.eviction, spare));
  }
  made->common_ = &made->pools_.at("");
  return made;
}

size_t DiskEviction::bytes() const {
  size_t bytes = sizeof(*this) + bytes_ + handles_.bytes() + condemned_.bytes() + spares_.bytes();
  constexpr size_t kNodeBytes = sizeof(decltype(pools_)::value_type) + 4 * sizeof(void*);
  for (const auto& [tenant, pool] : pools_) {
    bytes += kNodeBytes + pool.eviction->bytes() + pool.spare->bytes();
  }
  return bytes;
}

uint64_t DiskEviction::tenant_bytes(std::string_view tenant) const {
  const auto pool = pools_.find(tenant);
  return pool == pools_.end() ? common_->bytes : pool->second.bytes;
}

DiskEviction::Tracks::iterator DiskEviction::TrackFor(const TrackName& name) {
  const auto [track, is_new] = tracks_.try_emplace(name, &bytes_);
  if (is_new) {
    bytes_ += HeapBytesOf(name);
    track->second.handle = handles_.OfTrack(name);
    const auto pool = pools_.find(RamPools::TenantOf(name));
    track->second.pool = pool == pools_.end() ? common_ : &pool->second;
  }
  return track;
}

DiskEviction::Track* DiskEviction::FindTrack(const TrackName& track) {
  const auto found = tracks_.find(track);
  return found == tracks_.end() ? nullptr : &found->second;
}

DiskEviction::Held* DiskEviction::FindIn(Track* track, uint64_t group) {
  if (track == nullptr) {
    return nullptr;
  }
  const auto held = track->groups.find(group);
  return held == track->groups.end() ? nullptr : &held->second;
}

const DiskEviction::Held* DiskEviction::Find(const TrackName& name, uint64_t group) const {
  const auto track = tracks_.find(name);
  if (track == tracks_.end()) {
    return nullptr;
  }
  const auto held = track->second.groups.find(group);
  return held == track->second.groups.end() ? nullptr : &held->second;
}

void DiskEviction::Insert(Pool& pool, const Held& held) {
  pool.bytes += held.group.bytes;
  EvictionOf(pool, held).Insert(held.group);
}

void DiskEviction::OnStored(const TrackName& name, uint64_t group, const std::optional<Digest>& key,
                            uint64_t bytes) {
  Track* const known = FindTrack(name);
  if (Held* const held = FindIn(known, group)) {
    if (held->spare) {
      KeepAgain(*known->pool, *held);  // Somebody wants it here.
    }
    const uint64_t before = std::exchange(held->group.bytes, bytes);
    if (held->condemned) {
      Reprieve(*known->pool, *held);
    } else {
      known->pool->bytes += bytes - before;
      known->pool->eviction->Resize(held->group.handle, bytes);
    }
    return;
  }
  const auto owner = TrackFor(name);
  Held& held = owner->second.groups.try_emplace(group).first->second;
  const uint64_t handle = handles_.Add(name, group, key, {&owner->first, group});
  held.group = {handle, owner->second.handle, group, bytes};
  Insert(*owner->second.pool, held);
}

void DiskEviction::OnUsed(const TrackName& name, uint64_t group, uint64_t object) {
  Track* const track = FindTrack(name);
  Held* const held = FindIn(track, group);
  if (held == nullptr) {
    return;
  }
  // A reader goes through a group in order: going back means another one.
  const bool again = !held->last_object || object <= *held->last_object;
  held->last_object = object;
  if (held->condemned) {
    Reprieve(*track->pool, *held);
  } else if (again) {
    EvictionOf(*track->pool, *held).Hit(held->group.handle);
  }
}

void DiskEviction::Condemn(uint64_t handle, const DiskIndex& index) {
  const Owner owner = handles_.At(handle);
  Track* const track = FindTrack(*owner.track);
  Held* const held = FindIn(track, owner.group);
  KVCAST_CHECK(held != nullptr && !held->condemned);
  EvictionOf(*track->pool, *held).Evict(handle);
  track->pool->bytes -= held->group.bytes;
  held->condemned = true;
  condemned_.Add(handle, index.SharesOf(*owner.track, owner.group));
}

void DiskEviction::ForgetShares(uint64_t handle) {
  for (SegmentTally* const tally : {&condemned_, &spares_}) {
    if (tally->Has(handle)) {
      tally->Remove(handle);
    }
  }
}

void DiskEviction::OnMoved(const TrackName& track, uint64_t group, uint32_t from,
                           const SegmentShare& to) {
  if (const Held* const held = Find(track, group)) {
    condemned_.Move(held->group.handle, from, to);
    spares_.Move(held->group.handle, from, to);
  }
}

void DiskEviction::OnSpare(const TrackName& name, uint64_t group, bool spare,
                           const DiskIndex& index) {
  Track* const track = FindTrack(name);
  Held* const held = FindIn(track, group);
  if (held == nullptr || held->spare == spare) {
    return;
  }
  if (!spare) {
    KeepAgain(*track->pool, *held);
    return;
  }
  held->spare = true;
  if (!held->condemned) {
    track->pool->eviction->Forget(held->group.handle);
    track->pool->spare->Insert(held->group);
  }
  if (track->pool == common_) {
    spares_.Add(held->group.handle, index.SharesOf(name, group));
  }
}

void DiskEviction::KeepAgain(Pool& pool, Held& held) {
  if (!held.condemned) {
    pool.spare->Forget(held.group.handle);
    pool.bytes -= held.group.bytes;
  }
  ForgetShares(held.group.handle);
  held.condemned = false;
  held.spare = false;
  Insert(pool, held);
}

bool DiskEviction::IsSpare(const TrackName& track, uint64_t group) const {
  const Held* const held = Find(track, group);
  return held != nullptr && held->spare;
}

uint64_t DiskEviction::SpareRoom(std::span<const SegmentView> segments) const {
  uint64_t room = 0;
  for (const SegmentView& view : segments) {
    const uint64_t spare = spares_.BytesIn(view.segment);
    const uint64_t rest = view.live_bytes - std::min(view.live_bytes, spare) + view.note_bytes;
    room += spare > 0 && rest <= MovedBytesMax(view.bytes) ? view.bytes - rest : 0;
  }
  return room;
}

uint64_t DiskEviction::MovedMax(uint32_t segment, uint64_t segment_bytes) const {
  return segment == spared_ ? UINT64_MAX : MovedBytesMax(segment_bytes);
}

void DiskEviction::Reprieve(Pool& pool, Held& held) {
  held.condemned = false;
  condemned_.Remove(held.group.handle);
  Insert(pool, held);
}

void DiskEviction::Drop(Tracks::iterator track, Groups::iterator group) {
  ForgetShares(group->second.group.handle);
  handles_.Remove(group->second.group.handle);
  track->second.groups.erase(group);
  if (track->second.groups.empty()) {
    bytes_ -= HeapBytesOf(track->first);
    tracks_.erase(track);
  }
}

void DiskEviction::OnGone(const TrackName& track, uint64_t group) {
  const auto owner = tracks_.find(track);
  if (owner == tracks_.end()) {
    return;
  }
  const auto held = owner->second.groups.find(group);
  if (held == owner->second.groups.end()) {
    return;
  }
  if (!held->second.condemned) {
    EvictionOf(*owner->second.pool, held->second).Evict(held->second.group.handle);
    owner->second.pool->bytes -= held->second.group.bytes;
  }
  Drop(owner, held);
}

void DiskEviction::OnTrackGone(const TrackName& track) {
  const auto owner = tracks_.find(track);
  if (owner == tracks_.end()) {
    return;
  }
  for (const auto& [number, held] : owner->second.groups) {
    ForgetShares(held.group.handle);
    if (!held.condemned) {
      EvictionOf(*owner->second.pool, held).Forget(held.group.handle);
      owner->second.pool->bytes -= held.group.bytes;
    }
    handles_.Remove(held.group.handle);
  }
  bytes_ -= HeapBytesOf(owner->first);
  tracks_.erase(owner);
}

void DiskEviction::CondemnSome(size_t groups, const DiskIndex& index) {
  for (size_t count = condemned_.size(); count < groups; ++count) {
    const std::optional<uint64_t> next = NextVictim();
    if (!next) {
      return;
    }
    Condemn(*next, index);
  }
}

bool DiskEviction::Keep(const TrackName& track, uint64_t group, bool used) {
  const Held* const held = FindIn(FindTrack(track), group);
  return held == nullptr ? used : !held->condemned;
}

bool DiskEviction::Owes(const TrackName& name, uint64_t group) const {
  const auto track = tracks_.find(name);
  if (track == tracks_.end() || track->second.pool->reserved == 0) {
    return false;
  }
  const auto held = track->second.groups.find(group);
  return held != track->second.groups.end() && IsOwed(track->second, held->second);
}

bool DiskEviction::IsOwed(const Track& track, const Held& held) {
  return track.pool->reserved > 0 && !held.condemned && track.pool->beyond() < held.group.bytes;
}

std::optional<uint64_t> DiskEviction::NextVictim() {
  const std::optional<uint64_t> spare = NextOf(&Pool::spare);
  return spare ? spare : NextOf(&Pool::eviction);
}

std::optional<uint64_t> DiskEviction::NextOf(std::unique_ptr<Eviction> Pool::*which) {
  std::optional<uint64_t> victim;
  uint64_t most = 0;
  for (auto& [tenant, pool] : pools_) {
    const std::optional<uint64_t> next =
        pool.beyond() > most ? (pool.*which)->Victim() : std::nullopt;
    if (next) {
      const Owner owner = handles_.At(*next);
      const uint64_t bytes = FindIn(FindTrack(*owner.track), owner.group)->group.bytes;
      if (bytes <= pool.beyond()) {
        victim = next;
        most = pool.beyond();
      }
    }
  }
  return victim;
}

DiskEviction::Rooms DiskEviction::RoomsOf(std::span<const SegmentView> segments,
                                          const DiskIndex& index) {
  Rooms rooms;
  for (const SegmentView& view : segments) {
    const uint64_t condemned = condemned_.BytesIn(view.segment);
    const uint64_t most = view.bytes / 4 * 3;
    rooms[view.segment] = {view.live_bytes - std::min(condemned, view.live_bytes) + view.note_bytes,
                           std::min(MovedBytesMax(view.bytes) + view.note_bytes, most), most,
                           view.note_bytes};
  }
  const bool reserves =
      std::ranges::any_of(pools_, [](const auto& one) { return one.second.reserved > 0; });
  if (!reserves) {
    return rooms;
  }
  // What is owed changes with all that its tenant has.
  for (const auto& [name, track] : tracks_) {
    if (track.pool->reserved == 0) {
      continue;
    }
    for (const auto& [group, held] : track.groups) {
      ++walked_;
      if (!IsOwed(track, held)) {
        continue;
      }
      for (const SegmentShare& share : index.SharesOf(name, group)) {
        const auto room = rooms.find(share.segment);
        if (room != rooms.end()) {
          room->second.owed += share.bytes;
          room->second.moved_max =
              std::min(room->second.moved_max + share.bytes, room->second.most);
        }
      }
    }
  }
  return rooms;
}

std::optional<uint32_t> DiskEviction::SparedOf(const Rooms& rooms) const {
  std::optional<uint32_t> best;
  for (const auto& [segment, room] : rooms) {
    const bool enough = spares_.BytesIn(segment) >= room.most / 3 && room.wanted <= room.most;
    best = enough && (!best || room.wanted < rooms.at(*best).wanted) ? segment : best;
  }
  return best;
}

std::optional<uint32_t> DiskEviction::Victim(std::span<const SegmentView> segments,
                                             const DiskIndex& index) {
  Rooms rooms = RoomsOf(segments, index);
  const auto least = [&] {
    return std::ranges::min_element(rooms, {}, [](const auto& room) { return room.second.wanted; });
  };
  auto best = least();
  spared_.reset();
  bool only_spares = true;
  for (size_t count = 0; count < kCondemnedAtOnce && !spared_; ++count) {
    const std::optional<uint64_t> next = NextVictim();
    if (best->second.wanted <= best->second.moved_max || !next) {
      break;
    }
    const Owner& owner = handles_.At(*next);
    if (only_spares && !IsSpare(*owner.track, owner.group)) {
      only_spares = false;
      spared_ = SparedOf(rooms);
      continue;
    }
    Condemn(*next, index);
    for (const SegmentShare& share : condemned_.At(*next)) {
      const auto room = rooms.find(share.segment);
      if (room != rooms.end()) {
        room->second.wanted -= std::min(room->second.wanted, share.bytes);
        best = room->second.wanted < best->second.wanted ? room : best;
      }
    }
  }
  if (best->second.wanted <= best->second.moved_max) {
    return best->first;
  }
  spared_ = spared_ ? spared_ : SparedOf(rooms);
  if (spared_) {
    return spared_;
  }
  // Nobody else may be condemned now. What is not owed need not be moved; what is takes its room
  // elsewhere, and where that is nearly all of a segment nothing would be won, again and again.
  rooms = RoomsOf(segments, index);
  best = std::ranges::min_element(
      rooms, {}, [](const auto& room) { return std::pair(room.second.owed, room.second.wanted); });
  return best->second.owed <= best->second.most ? std::optional(best->first) : std::nullopt;
}

}  // namespace kvcast
