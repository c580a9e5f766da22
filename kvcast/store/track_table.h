#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "kvcast/object/track_name.h"
#include "kvcast/store/counted_allocator.h"

namespace kvcast {

struct RamTrack;

// Finds a track by its name in one step, where a sorted map takes a dozen comparisons of long
// strings. Under a secret: peers choose names.
class TrackTable {
 public:
  TrackTable(uint64_t secret, size_t* bytes);

  RamTrack* Find(const TrackName& name) const;
  // What the next Add() will take of memory.
  size_t GrowthForOne() const;
  // REQUIRES: it is not there, or is.
  void Add(RamTrack& track);
  void Remove(const RamTrack& track);

 private:
  struct Slot {
    uint64_t hash = 0;
    RamTrack* track = nullptr;  // Null if the slot is empty.
  };
  using Slots = std::vector<Slot, CountedAllocator<Slot>>;

  uint64_t HashOf(const TrackName& name) const;
  size_t Home(uint64_t hash) const { return hash & (slots_.size() - 1); }
  size_t After(size_t slot) const { return (slot + 1) & (slots_.size() - 1); }
  bool Crowded() const { return 2 * (count_ + 1) > slots_.size(); }
  void Rebuild(size_t slot_count);
  void Place(Slot slot);

  uint64_t secret_[2];
  Slots slots_;  // A power of two, at most half of them taken, in order from their home.
  size_t count_ = 0;
};

}  // namespace kvcast
