#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "kvcast/base/digest.h"
#include "kvcast/kv/slab.h"

namespace kvcast {

// Places for blocks by number, eight a run, so that blocks told of by one publisher lie side by
// side however many publish at a time.
//
// Who takes a place near another gets one of the same run while there is any. Who has nobody to be
// near to gets a run of its own, which nobody else is given until it is full or has been left alone
// for long: what is set aside so is bounded, and what is free in other runs is used before more
// memory is, unless that is little.
class BlockRuns {
 public:
  static constexpr uint32_t kNone = UINT32_MAX;
  static constexpr uint32_t kRunBlocks = 8;

  struct Block {
    Digest digest;
    uint32_t head = kNone;
  };

  // A free place: near `near`, which may be kNone or a number that means something else by now.
  // Takes memory for it if it must and may. REQUIRES: may_grow or has_free().
  uint32_t Take(uint32_t near, bool may_grow);
  void Free(uint32_t number);

  Block& operator[](uint32_t number) {
    return runs_[number / kRunBlocks].blocks[number % kRunBlocks];
  }
  const Block& operator[](uint32_t number) const {
    return runs_[number / kRunBlocks].blocks[number % kRunBlocks];
  }

  // The block's number if it is in the same run as `number`, or kNone. The first to be tried are
  // those that follow it.
  uint32_t FindInRunOf(uint32_t number, const Digest& digest) const;
  // Asks the memory for the whole run of a number, or for the one block.
  void PrefetchRunOf(uint32_t number) const;
  void Prefetch(uint32_t number) const;

  size_t size() const { return size_; }
  bool has_free() const { return size_ < runs_.size() * kRunBlocks; }
  size_t bytes() const { return runs_.bytes(); }
  // What Take() would add to that, at its peak, if it may.
  size_t bytes_to_take(uint32_t near) const {
    return NextRun(near) == kNone ? runs_.bytes_to_allocate() : 0;
  }

 private:
  // A run is in one of ten lists: of those set aside, in the order in which they were last used; of
  // those with one to eight free places; or, being full, in none.
  static constexpr uint8_t kSetAside = 0;
  static constexpr uint8_t kFull = kRunBlocks + 1;

  struct Run {
    std::array<Block, kRunBlocks> blocks;
    uint32_t next = kNone;
    uint32_t previous = kNone;
    uint8_t taken = 0;  // One bit a place.
    uint8_t list = kFull;
    size_t free_count() const { return kRunBlocks - static_cast<size_t>(std::popcount(taken)); }
  };
  struct List {
    uint32_t first = kNone;
    uint32_t last = kNone;
  };

  bool HasFreePlace(uint32_t run) const {
    return run < runs_.size() && runs_[run].free_count() > 0;
  }
  // The run from which Take() takes, or kNone where it would rather have a new one.
  uint32_t NextRun(uint32_t near) const;
  // The one with most free places of those nobody has set aside, or kNone.
  uint32_t EmptiestRun() const;
  size_t& FreeIn(uint8_t list) { return list == kSetAside ? free_set_aside_ : free_idle_; }
  void Enlist(uint32_t run, uint8_t list);
  void Unlist(uint32_t run);

  Slab<Run, &Run::next, 32> runs_;
  std::array<List, kRunBlocks + 1> lists_;
  uint32_t commons_ = kNone;  // Where those go who have nobody to be near to, if they share.
  size_t free_set_aside_ = 0;
  size_t free_idle_ = 0;  // In runs that are not set aside.
  size_t size_ = 0;
};

}  // namespace kvcast
