#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "kvcast/base/result.h"
#include "kvcast/store/lower_tier.h"

namespace kvcast {

// A file that a store is made of.
struct StoreFile {
  std::string name;
  std::string state;               // "sealed", "open", …
  uint64_t bytes = 0;              // That it takes.
  uint64_t live_bytes = 0;         // Of objects that are still the last word.
  uint64_t object_count = 0;       // Of which there may be later copies.
  std::optional<uint64_t> age_us;  // When its first object was received, since 1970.
};

// A place where something else stands than was written.
struct StoreDamage {
  std::string file;
  uint64_t offset = 0;
  std::string what;
  std::optional<TrackName> track{};    // If that is known,
  std::optional<Location> location{};  // and if it is an object.
  bool costs = false;                  // An object that is nowhere else.
};

// A group that would no longer be what it was.
struct StoreLoss {
  TrackName track;
  uint64_t group = 0;
  bool was_whole = false;
  uint64_t objects = 0;
  uint64_t bytes = 0;
};

struct StoreVerdict {
  uint64_t records = 0;  // That were read.
  uint64_t bytes = 0;
  std::vector<StoreDamage> damage;
  std::vector<StoreLoss> losses;
  // Damaged records of which nobody can tell what they held: each may have been an object that is
  // nowhere else.
  uint64_t nameless = 0;
  uint64_t unlisted = 0;  // Files that could not be read, whatever they hold.
};

using StoreProgress = std::function<void(uint64_t bytes_done, uint64_t bytes_total)>;

// A store that nobody uses just now, as the tools of `kvcast store` see it. They never change it.
class RestingStore {
 public:
  virtual ~RestingStore() = default;

  // In order, beginning behind a place, at most so many.
  virtual std::vector<TrackName> Tracks(const std::optional<TrackName>& after,
                                        size_t count_max) const = 0;
  virtual std::vector<ListedGroup> Groups(const std::optional<EvictedGroup>& after,
                                          size_t count_max) const = 0;
  virtual const TrackFacts* FindTrack(const TrackName& track) const = 0;
  // The nearest object of the same group that is here, at the location or above it.
  virtual std::optional<uint64_t> ObjectFrom(const TrackName& track, Location location) const = 0;

  // Files that could not be read when it was opened: what they hold is not listed.
  virtual std::vector<StoreDamage> Unlisted() const = 0;

  // Malformed: it is damaged. Machine: it cannot be read.
  virtual Result<StoredObject> Read(const TrackName& track, Location location) = 0;
  virtual Result<std::vector<StoreFile>> Files(const StoreProgress& progress) = 0;
  // Reads all there is.
  virtual Result<StoreVerdict> Verify(const StoreProgress& progress) = 0;
};

// NotFound: there is nothing of the kind. Machine: somebody uses it. Unsupported: another version.
Result<std::unique_ptr<RestingStore>> OpenRestingStore(const std::string& where);

// A track with all of its groups that are here.
struct ListedTrack {
  TrackName name;
  std::vector<ListedGroup> groups;

  uint64_t object_count() const;
  uint64_t payload_bytes() const;
  uint64_t whole_count() const;
};

// Goes through a store track by track, those whose written name begins so.
class TrackWalk {
 public:
  TrackWalk(const RestingStore& store, std::string prefix)
      : store_(&store), prefix_(std::move(prefix)) {}
  std::optional<ListedTrack> Next();

 private:
  const ListedGroup* PeekGroup();

  const RestingStore* store_;
  std::string prefix_;
  std::optional<TrackName> track_;
  std::vector<TrackName> tracks_;
  size_t next_track_ = 0;
  std::optional<EvictedGroup> group_;
  std::vector<ListedGroup> groups_;
  size_t next_group_ = 0;
};

// Whose a track is: the tenant of a cache's name, or of a catalog's; empty if it is neither.
std::string TenantOf(const TrackName& track);

}  // namespace kvcast
