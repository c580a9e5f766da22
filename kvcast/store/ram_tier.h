#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kvcast/base/chunk.h"
#include "kvcast/base/result.h"
#include "kvcast/base/time.h"
#include "kvcast/object/location.h"
#include "kvcast/object/object.h"
#include "kvcast/object/track_name.h"
#include "kvcast/store/lower_tier.h"
#include "kvcast/store/pin_book.h"
#include "kvcast/store/ram_index.h"
#include "kvcast/store/ram_pools.h"
#include "kvcast/store/track_facts.h"

namespace kvcast {

struct RamTierOptions {
  // For payloads, properties, names, the index, pins, and what policies remember.
  size_t bytes_max = 0;
  std::string eviction = "default";  // One of EvictionNames().
  // The immutable property of a group's first object that holds its key; 0: none does.
  uint64_t key_property = 0;
  uint64_t secret = 0;           // Random, and nobody else's business: peers choose names and keys.
  unsigned pinned_percent = 50;  // Of bytes_max, for pins that have an owner.
  std::map<std::string, uint64_t> reservations{};  // Bytes by tenant.
  // Where payloads come from that are put, if memory was set aside for them: what of it is idle
  // counts too, and goes back to the machine as more is needed for other things. Outlives the tier.
  ChunkPool* payload_chunks = nullptr;
};

// Objects in memory, by track and location, up to a number of bytes.
//
// Objects are immutable: an object that is put again must be the one that is there. Room is made by
// evicting whole groups, since a block with holes is of no use to anybody, in the order that a
// policy decides (eviction.h), and never below what another tenant has reserved (ram_pools.h).
// An object that somebody still sends keeps its payload alive by reference.
//
// A fetch of a group is a use of it, counted when the first of its objects that are here is
// asked for: so once for a reader that walks it, in however many calls.
class RamTier {
 public:
  // Invalid: more is reserved than there is, or no policy has this name.
  static Result<RamTier> Of(const RamTierOptions& options);
  // Without keys and reservations.
  explicit RamTier(size_t bytes_max);

  // A track, before its objects come. What was told of it first stays; the largest object only
  // rises. Too large: there is no room for one more name.
  Result<void> Describe(const TrackName& track, const Properties& properties,
                        std::optional<Location> largest = std::nullopt);
  // Groups of the track are never evicted, only removed.
  Result<void> Pin(const TrackName& track);
  // No object of the group, or of the track, stands at `end` or beyond. Mismatch: one does, or
  // another end was told.
  Result<void> CheckGroupEnd(const TrackName& track, uint64_t group, uint64_t end) const;
  // The same, and remembers it.
  Result<void> EndGroup(const TrackName& track, uint64_t group, uint64_t end);
  Result<void> EndTrack(const TrackName& track, Location end);
  // Its publisher says that nothing stands there. Mismatch: something does.
  Result<void> CheckGap(const TrackName& track, const LocationRange& gap) const;
  // Remembers it; where there is no room for that, it is forgotten. REQUIRES: CheckGap() passes.
  void AddGap(const TrackName& track, const LocationRange& gap);

  // True if the object is new, false if it was here. Mismatch: another object stands there, or none
  // can, so the track is malformed. Too large: its group would not fit an empty tier. Otherwise it
  // is kept, whatever has to go for it.
  // `received_us` is told when it is evicted.
  Result<bool> Put(const TrackName& track, const Object& object, uint64_t received_us = 0);
  // Absent is not evidence that it does not exist.
  std::optional<Object> Get(const TrackName& track, Location location);
  // The objects of a range that are here, in order, at most `count_max`.
  std::vector<Object> GetRange(const TrackName& track, const LocationRange& range,
                               size_t count_max);
  // An object as it lies here, until the next change; null if it does not. Not a use of its group.
  const Object* Look(const TrackName& track, Location location) const;

  // The whole groups from `first` to `last` that are here stay until then, or until their owner
  // lets go of them; a group that several own stays for the last. Again: the new time counts.
  // Returns how many those are. Too large: more would be pinned than may be, and nothing more is.
  Result<size_t> Pin(const TrackName& track, uint64_t first, uint64_t last, PinOwner owner,
                     Instant until);
  void Unpin(PinOwner owner);
  void OnTime(Instant now);
  std::optional<Instant> deadline() const { return pins_->next(); }

  // Null for a track nobody has described or put into.
  const TrackFacts* Find(const TrackName& track) const;
  std::optional<GroupFacts> FindGroup(const TrackName& track, uint64_t group) const;
  // The last of those of its group that do not exist from there on, as an object that is here says.
  std::optional<uint64_t> AbsentUpTo(const TrackName& track, Location location) const;
  // The nearest group that is here: at `group` or above it, or at it or below.
  std::optional<uint64_t> GroupFrom(const TrackName& track, uint64_t group) const;
  std::optional<uint64_t> GroupUpTo(const TrackName& track, uint64_t group) const;
  // In order, beginning behind a place, at most so many.
  std::vector<ListedGroup> Groups(const std::optional<EvictedGroup>& after, size_t count_max) const;

  std::vector<TrackName> Tracks(const std::optional<TrackName>& after, size_t count_max) const;

  // Not an eviction: whoever removes it knows.
  void Remove(const TrackName& track, uint64_t group);
  // The same of one object, which ends the group's pins; the group goes with the last one.
  void Remove(const TrackName& track, Location location);
  // The object that was put last was refused after all: it was never here, nor its track if that
  // was not. `largest` is what the track had before.
  void TakeBack(const TrackName& track, Location location, std::optional<Location> largest,
                bool was_known);
  // Forgets what outlived a track's objects; false if it has any.
  bool Forget(const TrackName& track);
  // Groups evicted since the last call, with their objects if these are to be handed over: they
  // are alive until then, and no longer counted.
  std::vector<EvictedGroup> TakeEvicted();
  std::vector<EvictedContents> TakeEvictedContents();
  void HandOverEvicted() { hands_over_ = true; }
  // What others keep in memory about what is here, which is part of the tier's bytes from now on.
  void CountBeside(size_t bytes);

  // All that the tier takes, payloads with it. Never more than it may, nor with what is set aside
  // for payloads and idle.
  size_t bytes() const {
    return index_->bytes() + pools_->bytes() + pins_->bytes() + beside_bytes_ + overhead_bytes_;
  }
  uint64_t pinned_bytes() const { return pins_->pinned_bytes(); }
  // What the groups of a tenant with a reservation take; of any other, those of all without.
  uint64_t tenant_bytes(std::string_view tenant) const { return pools_->PoolOf(tenant).bytes; }
  size_t object_count() const { return index_->object_count(); }
  size_t track_count() const { return index_->track_count(); }

 private:
  RamTier(const RamTierOptions& options, std::unique_ptr<RamPools> pools);

  Result<RamTrack*> TrackFor(const TrackName& name, const Properties& properties);
  RamGroup* FindIn(const TrackName& track, uint64_t number) const;
  // Whether so many bytes more are within the bounds, with headroom for the policies.
  bool Fits(size_t bytes) const;
  // Gives back what of the memory set aside would be too much beside so many bytes more.
  void TrimIdle(size_t bytes);
  // Makes room for so many bytes more; false if that cannot be. Never takes `keep`.
  bool EvictFor(size_t bytes, RamPool& newcomer, RamGroup* keep);
  // Who goes next for `newcomer`, whatever the policy thinks of `keep`. Null: nobody can.
  RamGroup* VictimBut(RamPool& newcomer, RamGroup* keep);
  void Add(RamTrack& track, RamGroup* group, StoredObject stored);
  void Erase(RamGroup& group, bool evicted);
  void Free(const std::vector<RamGroup*>& groups);

  size_t bytes_max_;
  uint64_t key_property_;
  uint64_t pinned_bytes_max_;
  ChunkPool* payload_chunks_;
  std::unique_ptr<RamIndex> index_;
  std::unique_ptr<RamPools> pools_;
  std::unique_ptr<PinBook> pins_;
  size_t overhead_bytes_;  // Of the memory set aside.
  size_t beside_bytes_ = 0;
  bool hands_over_ = false;
  std::vector<EvictedContents> evicted_;
};

}  // namespace kvcast
