#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "kvcast/base/result.h"
#include "kvcast/host/resting_store.h"

namespace kvcast {

// The directory of a node of several shards at rest, as one store: each shard has a part of it,
// with tracks of its own. Files are named with their part.
class RestingShards final : public RestingStore {
 public:
  // The parts of a directory, in order of their names; none, if a node of one shard has it.
  static std::vector<std::string> PartsOf(const std::filesystem::path& directory);
  // Refuses a directory that has parts, to whoever would write into it as if it had none.
  static Result<void> CheckHasNone(const std::filesystem::path& directory);

  struct Part {
    std::string name;
    std::unique_ptr<RestingStore> store;
  };
  explicit RestingShards(std::vector<Part> parts) : parts_(std::move(parts)) {}

  std::vector<TrackName> Tracks(const std::optional<TrackName>& after,
                                size_t count_max) const override;
  std::vector<ListedGroup> Groups(const std::optional<EvictedGroup>& after,
                                  size_t count_max) const override;
  const TrackFacts* FindTrack(const TrackName& track) const override;
  std::optional<uint64_t> ObjectFrom(const TrackName& track, Location location) const override;
  std::vector<StoreDamage> Unlisted() const override;
  Result<StoredObject> Read(const TrackName& track, Location location) override;
  Result<std::vector<StoreFile>> Files(const StoreProgress& progress) override;
  Result<StoreVerdict> Verify(const StoreProgress& progress) override;

 private:
  // The part that knows the track; null: none does.
  RestingStore* PartOf(const TrackName& track) const;

  std::vector<Part> parts_;
};

}  // namespace kvcast
