#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "kvcast/base/digest.h"
#include "kvcast/kv/block_runs.h"
#include "kvcast/kv/slot_table.h"

namespace kvcast {

// Numbers for digests, made for being asked about a thousand of them that are in no cache.
//
// Blocks that a track tells of lie side by side, in runs of eight (BlockRuns). So only some digests
// are found by the table, many under way at a time, and the others in the runs of those. One that
// is not there mostly costs a look at the table's marks, which are small enough to stay in a cache.
//
// Where a digest goes in that table is keyed with a seed, so nobody outside can choose digests that
// collide. The digest of all zeros cannot be kept: it marks a number that is free.
class BlockTable {
 public:
  static constexpr uint32_t kNone = BlockRuns::kNone;

  explicit BlockTable(uint64_t seed);

  // The digest's number, or kNone.
  uint32_t Find(const Digest& digest) const;
  // The same for many, far faster than one by one. REQUIRES: numbers.size() == digests.size().
  void FindAll(std::span<const Digest> digests, std::span<uint32_t> numbers) const;

  // Side by side with `near`, a number of before or kNone, if there is a place. If it may not grow,
  // only where a place is free. REQUIRES: the digest is not there, and is not all zeros; may_grow
  // or has_free().
  uint32_t Insert(const Digest& digest, uint32_t near = kNone, bool may_grow = true);
  void Erase(uint32_t number);
  const Digest& digest(uint32_t number) const { return blocks_[number].digest; }

  // What the caller keeps with a number; kNone at first.
  uint32_t& head(uint32_t number) { return blocks_[number].head; }
  uint32_t head(uint32_t number) const { return blocks_[number].head; }

  size_t size() const { return blocks_.size(); }
  bool has_free() const { return blocks_.has_free(); }
  size_t bytes() const { return blocks_.bytes() + slots_.bytes(); }
  // What Insert() would add to that, at its peak.
  size_t bytes_to_insert(uint32_t near, bool may_grow) const {
    return (may_grow ? blocks_.bytes_to_take(near) : 0) + slots_.bytes_to_insert();
  }

 private:
  uint32_t TagOf(const Digest& digest) const;
  uint32_t FindByTag(uint32_t tag, const Digest& digest) const;
  // One lookup of many: the digests, and where their numbers go.
  struct Lookup {
    std::span<const Digest> digests;
    std::span<uint32_t> numbers;
  };
  // By the table. REQUIRES: at most kTogether places.
  void FindTogether(const Lookup& lookup, std::span<const uint32_t> places, bool whole_runs) const;
  // In the run of the one found at `place`, before it and after it, as far as that leads; how
  // many it found.
  size_t FindAround(const Lookup& lookup, size_t place) const;

  uint64_t seeds_[4];
  BlockRuns blocks_;
  SlotTable slots_;
};

}  // namespace kvcast
