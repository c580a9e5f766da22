#include "kvcast/host/resting_store.h"

#include <numeric>
#include <utility>

#include "kvcast/host/disk_directory.h"
#include "kvcast/host/resting_bucket.h"
#include "kvcast/host/resting_shards.h"
#include "kvcast/kv/cache_track.h"

namespace kvcast {
namespace {

constexpr size_t kPage = 1024;

}  // namespace

Result<std::unique_ptr<RestingStore>> OpenRestingStore(const std::string& where) {
  if (BucketFlag::Is(where)) {
    KVCAST_TRY(const BucketFlag flag, BucketFlag::Parse(where));
    KVCAST_TRY(std::unique_ptr<RestingBucket> bucket, RestingBucket::Open(flag));
    return std::unique_ptr<RestingStore>(std::move(bucket));
  }
  std::vector<RestingShards::Part> parts;
  for (std::string& name : RestingShards::PartsOf(where)) {
    KVCAST_TRY(std::unique_ptr<DiskDirectory> part,
               DiskDirectory::Open(std::filesystem::path(where) / name));
    parts.push_back({std::move(name), std::move(part)});
  }
  if (!parts.empty()) {
    return std::unique_ptr<RestingStore>(std::make_unique<RestingShards>(std::move(parts)));
  }
  KVCAST_TRY(std::unique_ptr<DiskDirectory> directory, DiskDirectory::Open(where));
  return std::unique_ptr<RestingStore>(std::move(directory));
}

uint64_t ListedTrack::object_count() const {
  return std::accumulate(
      groups.begin(), groups.end(), uint64_t{0},
      [](uint64_t sum, const ListedGroup& group) { return sum + group.facts.object_count; });
}

uint64_t ListedTrack::payload_bytes() const {
  return std::accumulate(
      groups.begin(), groups.end(), uint64_t{0},
      [](uint64_t sum, const ListedGroup& group) { return sum + group.facts.payload_bytes; });
}

uint64_t ListedTrack::whole_count() const {
  return std::accumulate(
      groups.begin(), groups.end(), uint64_t{0},
      [](uint64_t sum, const ListedGroup& group) { return sum + (group.facts.whole() ? 1 : 0); });
}

const ListedGroup* TrackWalk::PeekGroup() {
  if (next_group_ == groups_.size()) {
    groups_ = store_->Groups(group_, kPage);
    next_group_ = 0;
    if (groups_.empty()) {
      return nullptr;
    }
    group_ = EvictedGroup{groups_.back().track, groups_.back().group};
  }
  return &groups_[next_group_];
}

std::optional<ListedTrack> TrackWalk::Next() {
  while (true) {
    if (next_track_ == tracks_.size()) {
      tracks_ = store_->Tracks(track_, kPage);
      next_track_ = 0;
      if (tracks_.empty()) {
        return std::nullopt;
      }
      track_ = tracks_.back();
    }
    ListedTrack listed{std::move(tracks_[next_track_++]), {}};
    for (const ListedGroup* group = PeekGroup(); group != nullptr && group->track == listed.name;
         group = PeekGroup()) {
      listed.groups.push_back(std::move(groups_[next_group_++]));
    }
    if (listed.name.Render().starts_with(prefix_)) {
      return listed;
    }
  }
}

std::string TenantOf(const TrackName& track) {
  const auto scope = ModelScope::Parse(track.space());
  return scope.ok() ? scope->tenant().name() : std::string();
}

}  // namespace kvcast
