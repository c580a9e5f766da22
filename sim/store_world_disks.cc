// Disks on which blocks go bad while the store runs, or which do not answer for a while.
#include <algorithm>

#include "sim/store_world.h"

namespace kvcast::sim {
namespace {

// With both of a segment's first blocks gone, nobody can tell what is in it unless it has a footer.
constexpr uint64_t kSegmentStart = 2 * kDeviceBlockBytes;

}  // namespace

void StoreWorld::HarmDisks() {
  const size_t which = random_.Below(devices_.size());
  MemoryDevice& device = devices_[which];
  if (random_.Happens(device.faults().hangs ? 0.1 : 0.001)) {
    device.faults().hangs = !device.faults().hangs;
    counts_.hangs += device.faults().hangs ? 1u : 0u;
    Note("hangs");
  }
  if (!has_bad_blocks_ || !random_.Happens(0.01)) {
    return;
  }
  const std::vector<DeviceCompletion::File> files = device.List();
  const auto* const file = files.empty() ? nullptr : &files[random_.Below(files.size())];
  if (file == nullptr || file->number == kSuperblockFile || file->bytes == 0) {
    return;
  }
  const uint64_t block = random_.Below(file->bytes / kDeviceBlockBytes) * kDeviceBlockBytes;
  Note("bad " + std::to_string(file->number) + " " + std::to_string(block));
  counts_.bad_blocks += device.faults().bad_blocks.emplace(file->number, block).second ? 1u : 0u;
}

std::map<size_t, DiskPlace> StoreWorld::PlacesOf(const Name& name) const {
  std::map<size_t, DiskPlace> places;
  for (size_t disk = 0; disk < tiers_.size(); ++disk) {
    if (const auto found = tiers_[disk]->index().Find(TrackOf(name.first), name.second)) {
      places.emplace(disk, found->place);
    }
  }
  return places;
}

bool StoreWorld::IsBad(size_t disk, DiskPlace place, const Name& name) const {
  const auto found = tiers_[disk]->index().Find(TrackOf(name.first), name.second);
  return found && found->place == place &&
         devices_[disk].faults().IsBad(place.segment, place.offset, found->length);
}

bool StoreWorld::IsUnreadable(const Name& name) const {
  const auto places = PlacesOf(name);
  return !places.empty() && std::ranges::all_of(places, [&](const auto& each) {
    return IsBad(each.first, each.second, name);
  });
}

// A block may go bad when something has just been written into it; but what was known to be lost,
// and was put again, is not kept where it cannot be read.
void StoreWorld::OnAcknowledged(const Pledged& pledged, Durability level) {
  const Name& name = pledged.name;
  if (level == Durability::kDisk && IsUnreadable(name)) {
    if (!pledged.unreadable.empty() && PlacesOf(name) == pledged.unreadable) {
      Fail("track " + std::to_string(name.first) + " has " + name.second.ToString() +
           " acknowledged where it is known that it cannot be read");
    }
    missed_.erase(name);  // Of where it lies now nobody knows yet.
    return;
  }
  counts_.put_again += missed_.erase(name);
  Durability& promised = promised_[name];
  promised = std::max(promised, level);
}

// A start knows nothing of what the last one could not read. What lies in bad blocks is lost with
// them: objects, all of a segment of which nobody can tell what it is, and removals.
void StoreWorld::ForgetUnreadable() {
  missed_.clear();
  if (!has_bad_blocks_) {
    return;
  }
  for (auto& [track, erasure] : erasures_) {
    erasure.unsure = true;
  }
  for (auto promise = promised_.begin(); promise != promised_.end();) {
    const Name& name = promise->first;
    const auto places = PlacesOf(name);
    const bool lost = promise->second != Durability::kBucket && !places.empty() &&
                      std::ranges::all_of(places, [&](const auto& each) {
                        const auto& [disk, place] = each;
                        return IsBad(disk, place, name) ||
                               devices_[disk].faults().IsBad(place.segment, 0, kSegmentStart);
                      });
    counts_.unread += lost ? 1u : 0u;
    promise = lost ? promised_.erase(promise) : std::next(promise);
  }
}

}  // namespace kvcast::sim
