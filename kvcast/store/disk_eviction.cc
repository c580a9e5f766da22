#include "kvcast/store/disk_eviction.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "kvcast/base/byte_writer.h"
#include "kvcast/base/check.h"
#include "kvcast/store/disk_index.h"

namespace kvcast {
namespace {

// So many victims in one go, so that nobody waits long for the loop; the next time goes on.
constexpr size_t kCondemnedAtOnce = 16384;

}  // namespace

DiskEviction::DiskEviction(std::unique_ptr<Eviction> eviction, uint64_t seed)
    : eviction_(std::move(eviction)), seed_(seed) {}

uint64_t DiskEviction::HandleOf(std::span<const std::byte> what, std::string_view name) const {
  Sha256 hash;
  hash.Update(std::as_bytes(std::span(&seed_, 1)));
  hash.Update(what);
  hash.Update(AsBytes(name));
  const Digest digest = hash.Finish();
  uint64_t handle = 0;
  std::memcpy(&handle, digest.bytes.data(), sizeof(handle));
  return handle;
}

DiskEviction::Track& DiskEviction::TrackFor(const TrackName& name) {
  const auto found = tracks_.find(name);
  if (found != tracks_.end()) {
    return found->second;
  }
  bytes_ += HeapBytesOf(name);
  Track& track = tracks_.try_emplace(name, &bytes_).first->second;
  ByteWriter writer;
  name.WriteTo(writer);
  const std::string wire = writer.Take().ToString();
  track.handle = HandleOf(AsBytes(wire), "");
  return track;
}

DiskEviction::Held* DiskEviction::Find(const TrackName& track, uint64_t group) {
  const auto found = tracks_.find(track);
  if (found == tracks_.end()) {
    return nullptr;
  }
  const auto held = found->second.groups.find(group);
  return held == found->second.groups.end() ? nullptr : &held->second;
}

void DiskEviction::OnStored(const TrackName& track, uint64_t group,
                            const std::optional<Digest>& key, uint64_t bytes) {
  if (Held* const held = Find(track, group)) {
    held->group.bytes = bytes;
    if (held->condemned) {
      Reprieve(*held);
    } else {
      eviction_->Resize(held->group.handle, bytes);
    }
    return;
  }
  Track& owner = TrackFor(track);
  const uint64_t numbers[] = {owner.handle, group};
  const uint64_t own = HandleOf(std::as_bytes(std::span(numbers)), "");
  // One block may be here under several tracks: the first stands for all.
  uint64_t handle = key ? HandleOf(key->bytes, track.name()) : own;
  handle = owners_.contains(handle) ? own : handle;
  if (owners_.contains(handle)) {
    return;  // Two digests of 64 bits that are equal: then nobody asks for this one.
  }
  Held& held = owner.groups.try_emplace(group).first->second;
  held.group = {handle, owner.handle, group, bytes};
  owners_[handle] = {&tracks_.find(track)->first, group};
  eviction_->Insert(held.group);
}

void DiskEviction::OnUsed(const TrackName& track, uint64_t group, uint64_t object) {
  Held* const held = Find(track, group);
  if (held == nullptr) {
    return;
  }
  // A reader goes through a group in order: going back means another one.
  const bool again = !held->last_object || object <= *held->last_object;
  held->last_object = object;
  if (held->condemned) {
    Reprieve(*held);
  } else if (again) {
    eviction_->Hit(held->group.handle);
  }
}

void DiskEviction::Condemn(uint64_t handle) {
  const Owner& owner = owners_.at(handle);
  Held* const held = Find(*owner.track, owner.group);
  KVCAST_CHECK(held != nullptr && !held->condemned);
  eviction_->Evict(handle);
  held->condemned = true;
  ++condemned_count_;
}

void DiskEviction::Reprieve(Held& held) {
  held.condemned = false;
  --condemned_count_;
  eviction_->Insert(held.group);
}

void DiskEviction::Drop(Tracks::iterator track, Groups::iterator group) {
  condemned_count_ -= static_cast<size_t>(group->second.condemned);
  owners_.erase(group->second.group.handle);
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
    eviction_->Evict(held->second.group.handle);
  }
  Drop(owner, held);
}

void DiskEviction::OnTrackGone(const TrackName& track) {
  const auto owner = tracks_.find(track);
  if (owner == tracks_.end()) {
    return;
  }
  for (const auto& [number, held] : owner->second.groups) {
    if (!held.condemned) {
      eviction_->Forget(held.group.handle);
    }
    condemned_count_ -= static_cast<size_t>(held.condemned);
    owners_.erase(held.group.handle);
  }
  bytes_ -= HeapBytesOf(owner->first);
  tracks_.erase(owner);
}

bool DiskEviction::Keep(const TrackName& track, uint64_t group, bool used) {
  const Held* const held = Find(track, group);
  return held == nullptr ? used : !held->condemned;
}

uint32_t DiskEviction::Victim(std::span<const SegmentView> segments, const DiskIndex& index) {
  struct Room {
    uint64_t wanted = 0;  // Bytes that nobody has condemned.
    uint64_t moved_max = 0;
  };
  std::map<uint32_t, Room> rooms;
  for (const SegmentView& view : segments) {
    rooms[view.segment] = {view.live_bytes, MovedBytesMax(view.bytes)};
  }
  auto best = rooms.begin();
  const auto take = [&](const TrackName& track, uint64_t group) {
    for (const SegmentShare& share : index.SharesOf(track, group)) {
      const auto found = rooms.find(share.segment);
      if (found != rooms.end()) {
        found->second.wanted -= std::min(found->second.wanted, share.bytes);
        best = found->second.wanted < best->second.wanted ? found : best;
      }
    }
  };
  for (auto room = rooms.begin(); room != rooms.end(); ++room) {
    best = room->second.wanted < best->second.wanted ? room : best;
  }
  for (const auto& [name, track] : tracks_) {
    for (const auto& [group, held] : track.groups) {
      if (held.condemned) {
        take(name, group);
      }
    }
  }
  for (size_t count = 0; count < kCondemnedAtOnce; ++count) {
    const auto next = eviction_->Victim();
    if (best->second.wanted <= best->second.moved_max || !next) {
      break;
    }
    const Owner owner = owners_.at(*next);
    Condemn(*next);
    take(*owner.track, owner.group);
  }
  return best->first;
}

}  // namespace kvcast
