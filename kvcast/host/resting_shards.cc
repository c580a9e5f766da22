#include "kvcast/host/resting_shards.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <system_error>
#include <tuple>

#include "kvcast/host/shard_plan.h"

namespace kvcast {
namespace {

template <typename Value>
void MoveTo(std::vector<Value>& all, std::vector<Value> more) {
  all.insert(all.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
}

// What each part has, in order, as far as none may have left some out.
template <typename Value, typename Less>
std::vector<Value> First(std::vector<Value> all, size_t count_max, Less less) {
  std::ranges::sort(all, less);
  if (all.size() > count_max) {
    all.erase(all.begin() + static_cast<std::ptrdiff_t>(count_max), all.end());
  }
  return all;
}

// Goes on where the part before has ended.
StoreProgress Behind(const StoreProgress& progress, uint64_t& done) {
  return [&progress, &done, before = done](uint64_t bytes_done, uint64_t bytes_total) {
    done = before + bytes_total;
    progress(before + bytes_done, before + bytes_total);
  };
}

}  // namespace

std::vector<std::string> RestingShards::PartsOf(const std::filesystem::path& directory) {
  std::vector<std::string> parts;
  std::error_code failed;
  for (std::filesystem::directory_iterator entry(directory, failed), end; !failed && entry != end;
       entry.increment(failed)) {
    std::string name = entry->path().filename().string();
    if (ShardPlace::In(name)) {
      parts.push_back(std::move(name));
    }
  }
  std::ranges::sort(parts);
  return parts;
}

Result<void> RestingShards::CheckHasNone(const std::filesystem::path& directory) {
  const std::vector<std::string> parts = PartsOf(directory);
  if (parts.empty()) {
    return {};
  }
  return Error(ErrorCode::kUnsupported,
               fmt::format("A node of several shards has this directory. Name one of its {} parts, "
                           "such as {}: nothing was changed.",
                           parts.size(), (directory / parts.front()).string()))
      .In(directory.string());
}

std::vector<TrackName> RestingShards::Tracks(const std::optional<TrackName>& after,
                                             size_t count_max) const {
  std::vector<TrackName> all;
  for (const Part& part : parts_) {
    MoveTo(all, part.store->Tracks(after, count_max));
  }
  return First(std::move(all), count_max, std::less<>());
}

std::vector<ListedGroup> RestingShards::Groups(const std::optional<EvictedGroup>& after,
                                               size_t count_max) const {
  std::vector<ListedGroup> all;
  for (const Part& part : parts_) {
    MoveTo(all, part.store->Groups(after, count_max));
  }
  return First(std::move(all), count_max, [](const ListedGroup& one, const ListedGroup& other) {
    return std::tie(one.track, one.group) < std::tie(other.track, other.group);
  });
}

RestingStore* RestingShards::PartOf(const TrackName& track) const {
  const auto part = std::ranges::find_if(
      parts_, [&](const Part& each) { return each.store->FindTrack(track) != nullptr; });
  return part == parts_.end() ? nullptr : part->store.get();
}

const TrackFacts* RestingShards::FindTrack(const TrackName& track) const {
  const RestingStore* const part = PartOf(track);
  return part == nullptr ? nullptr : part->FindTrack(track);
}

std::optional<uint64_t> RestingShards::ObjectFrom(const TrackName& track, Location location) const {
  const RestingStore* const part = PartOf(track);
  return part == nullptr ? std::nullopt : part->ObjectFrom(track, location);
}

std::vector<StoreDamage> RestingShards::Unlisted() const {
  std::vector<StoreDamage> all;
  for (const Part& part : parts_) {
    for (StoreDamage& damage : part.store->Unlisted()) {
      damage.file = part.name + "/" + damage.file;
      all.push_back(std::move(damage));
    }
  }
  return all;
}

Result<StoredObject> RestingShards::Read(const TrackName& track, Location location) {
  RestingStore* const part = PartOf(track);
  if (part == nullptr) {
    return Error(ErrorCode::kNotFound, "There is no such track.");
  }
  return part->Read(track, location);
}

Result<std::vector<StoreFile>> RestingShards::Files(const StoreProgress& progress) {
  std::vector<StoreFile> all;
  uint64_t done = 0;
  for (const Part& part : parts_) {
    KVCAST_TRY(std::vector<StoreFile> files, part.store->Files(Behind(progress, done)));
    for (StoreFile& file : files) {
      file.name = part.name + "/" + file.name;
    }
    MoveTo(all, std::move(files));
  }
  return all;
}

Result<StoreVerdict> RestingShards::Verify(const StoreProgress& progress) {
  StoreVerdict all;
  uint64_t done = 0;
  for (const Part& part : parts_) {
    KVCAST_TRY(StoreVerdict verdict, part.store->Verify(Behind(progress, done)));
    for (StoreDamage& damage : verdict.damage) {
      damage.file = part.name + "/" + damage.file;
    }
    all.records += verdict.records;
    all.bytes += verdict.bytes;
    MoveTo(all.damage, std::move(verdict.damage));
    MoveTo(all.losses, std::move(verdict.losses));
    all.nameless += verdict.nameless;
    all.unlisted += verdict.unlisted;
  }
  return all;
}

}  // namespace kvcast
