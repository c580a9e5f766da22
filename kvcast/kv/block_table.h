#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "kvcast/base/digest.h"
#include "kvcast/kv/slab.h"
#include "kvcast/kv/slot_table.h"

namespace kvcast {

// Numbers for digests, made for being asked about a thousand of them that are in no cache.
//
// A track's blocks are told one after the other, so blocks that follow each other in a prompt
// mostly have numbers that follow each other, upwards or (where they took the place of others that
// went one by one) downwards, and their digests lie side by side. So only some digests are found by
// the table, many under way at a time, and those between them by trying the numbers next to theirs.
//
// Where a digest goes in that table is keyed with a seed, so nobody outside can choose digests that
// collide. The digest of all zeros cannot be kept: it marks a number that is free.
class BlockTable {
 public:
  static constexpr uint32_t kNone = UINT32_MAX;

  explicit BlockTable(uint64_t seed);

  // The digest's number, or kNone.
  uint32_t Find(const Digest& digest) const;
  // The same for many, far faster than one by one. REQUIRES: numbers.size() == digests.size().
  void FindAll(std::span<const Digest> digests, std::span<uint32_t> numbers) const;

  // REQUIRES: the digest is not there, and is not all zeros.
  uint32_t Insert(const Digest& digest);
  void Erase(uint32_t number);
  const Digest& digest(uint32_t number) const { return blocks_[number].digest; }

  // What the caller keeps with a number; kNone at first.
  uint32_t& head(uint32_t number) { return blocks_[number].head; }
  uint32_t head(uint32_t number) const { return blocks_[number].head; }

  size_t size() const { return blocks_.size(); }
  size_t bytes() const { return blocks_.bytes() + slots_.bytes(); }
  // What Insert() would add to that, at its peak.
  size_t bytes_to_insert() const { return blocks_.bytes_to_allocate() + slots_.bytes_to_insert(); }

 private:
  struct Block {
    Digest digest;
    uint32_t head = kNone;
  };

  uint32_t TagOf(const Digest& digest) const;
  uint32_t FindByTag(uint32_t tag, const Digest& digest) const;
  bool IsAt(uint32_t number, const Digest& digest) const {
    return blocks_.Has(number) && blocks_[number].digest == digest && digest != Digest();
  }
  // One lookup of many: the digests, and where their numbers go.
  struct Lookup {
    std::span<const Digest> digests;
    std::span<uint32_t> numbers;
  };
  // By the table. REQUIRES: at most kTogether places.
  void FindTogether(const Lookup& lookup, std::span<const uint32_t> places) const;
  // By trying numbers next to the one found at `place`, before it and after it, as far as that
  // leads.
  void FindAround(const Lookup& lookup, size_t place) const;
  // The one of the two numbers next to `number` that is the digest's, or kNone.
  uint32_t FindBeside(uint32_t number, const Digest& digest) const;

  uint64_t seeds_[4];
  Slab<Block, &Block::head> blocks_;
  SlotTable slots_;
};

}  // namespace kvcast
