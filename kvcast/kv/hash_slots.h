#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "kvcast/base/digest.h"

namespace kvcast {

// A hash table from digests to numbers, made for being asked about a thousand digests that are not
// in any cache: a digest lies whole in its slot, within one cache line, so an answer costs one
// miss, and many of them are under way at a time. Linear probing, at most four fifths full.
//
// Where a digest goes is keyed with a seed, so nobody outside can choose digests that collide. The
// digest of all zeros cannot be kept: it marks an empty slot.
class HashSlots {
 public:
  static constexpr uint32_t kNone = UINT32_MAX;

  explicit HashSlots(uint64_t seed);

  // Where the digest is, or kNone. Slots move when the table changes.
  uint32_t Find(const Digest& digest) const { return FindFrom(Home(digest), digest); }
  // The same for many, far faster than one by one. REQUIRES: slots.size() == digests.size().
  void FindAll(std::span<const Digest> digests, std::span<uint32_t> slots) const;

  uint32_t number(uint32_t slot) const { return numbers_[slot]; }
  const Digest& digest(uint32_t slot) const { return slots_[slot].digest; }

  // Both call moved(number, slot) for every number that is in another slot than before, the new one
  // included. REQUIRES: the digest is not there, and is not all zeros; the table has fewer than
  // 2^31 digests.
  template <typename Moved>
  void Insert(const Digest& digest, uint32_t number, Moved moved);
  template <typename Moved>
  void Erase(uint32_t slot, Moved moved);

  size_t size() const { return size_; }
  size_t bytes() const {
    return slots_.capacity() * sizeof(Slot) + numbers_.capacity() * sizeof(uint32_t);
  }
  // What Insert() would add to that, at its peak.
  size_t bytes_to_insert() const {
    return IsFull() ? GrownSize() * (sizeof(Slot) + sizeof(uint32_t)) : 0;
  }

 private:
  struct alignas(32) Slot {
    Digest digest;
  };

  size_t Home(const Digest& digest) const;
  uint32_t FindFrom(size_t home, const Digest& digest) const;
  size_t Next(size_t at) const { return at + 1 == slots_.size() ? 0 : at + 1; }
  bool IsEmpty(size_t at) const { return slots_[at].digest == Digest(); }
  bool IsFull() const { return (size_ + 1) * 5 > slots_.size() * 4; }
  size_t GrownSize() const;
  void Grow();
  size_t Place(const Digest& digest, uint32_t number);
  // Whether a slot whose digest belongs at `home` and now stands at `at` may move to `hole`.
  static bool MayMove(size_t home, size_t hole, size_t at) {
    return home <= at ? (home <= hole && hole < at) : (home <= hole || hole < at);
  }

  uint64_t seeds_[4];
  std::vector<Slot> slots_;
  std::vector<uint32_t> numbers_;
  size_t size_ = 0;
};

template <typename Moved>
void HashSlots::Insert(const Digest& digest, uint32_t number, Moved moved) {
  if (IsFull()) {
    Grow();
    for (size_t at = 0; at < slots_.size(); ++at) {
      if (!IsEmpty(at)) {
        moved(numbers_[at], static_cast<uint32_t>(at));
      }
    }
  }
  moved(number, static_cast<uint32_t>(Place(digest, number)));
  ++size_;
}

template <typename Moved>
void HashSlots::Erase(uint32_t slot, Moved moved) {
  // Those behind it move up, as long as that brings them no further from home: a hole in the
  // middle would end a search too early.
  size_t hole = slot;
  for (size_t at = Next(hole); !IsEmpty(at); at = Next(at)) {
    if (MayMove(Home(slots_[at].digest), hole, at)) {
      slots_[hole] = slots_[at];
      numbers_[hole] = numbers_[at];
      moved(numbers_[hole], static_cast<uint32_t>(hole));
      hole = at;
    }
  }
  slots_[hole] = Slot();
  --size_;
}

}  // namespace kvcast
