#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "kvcast/kv/allocation_bytes.h"

namespace kvcast {

// A hash table from 32-bit tags to the numbers of things kept elsewhere; 8 bytes a slot, linear
// probing, at most four fifths full. Things whose tags agree share it: the caller compares.
//
// A tag also says where its slot should be (in proportion to the table's size), so growing needs
// nothing but the slots themselves.
class SlotTable {
 public:
  void Insert(uint32_t tag, uint32_t index);
  // REQUIRES: it was inserted.
  void Erase(uint32_t tag, uint32_t index);

  // The first index with this tag that `is_it` accepts.
  template <typename Predicate>
  std::optional<uint32_t> Find(uint32_t tag, Predicate is_it) const {
    if (slots_.empty()) {
      return std::nullopt;
    }
    for (size_t at = Home(tag); slots_[at] != kEmpty; at = Next(at)) {
      if (TagOf(slots_[at]) == tag && is_it(IndexOf(slots_[at]))) {
        return IndexOf(slots_[at]);
      }
    }
    return std::nullopt;
  }

  // Asks the memory for the place where Find() will begin.
  void Prefetch(uint32_t tag) const {
    if (!slots_.empty()) {
      __builtin_prefetch(&slots_[Home(tag)]);
    }
  }

  size_t size() const { return size_; }
  size_t bytes() const { return AllocationBytes(slots_.capacity() * sizeof(uint64_t)); }
  // What Insert() would add to that, at its peak: while it grows, old and new slots are both there.
  size_t bytes_to_insert() const {
    return IsFull() ? AllocationBytes(GrownSize() * sizeof(uint64_t)) : 0;
  }

 private:
  static constexpr uint64_t kEmpty = 0;
  static uint64_t Slot(uint32_t tag, uint32_t index) {
    return uint64_t{tag} << 32 | (uint64_t{index} + 1);
  }
  static uint32_t TagOf(uint64_t slot) { return static_cast<uint32_t>(slot >> 32); }
  static uint32_t IndexOf(uint64_t slot) { return static_cast<uint32_t>(slot) - 1; }

  size_t Home(uint32_t tag) const {
    return static_cast<size_t>((uint64_t{tag} * slots_.size()) >> 32);
  }
  size_t Next(size_t at) const { return at + 1 == slots_.size() ? 0 : at + 1; }
  bool IsFull() const { return (size_ + 1) * 5 > slots_.size() * 4; }
  size_t GrownSize() const;
  void Place(uint64_t slot);

  std::vector<uint64_t> slots_;
  size_t size_ = 0;
};

}  // namespace kvcast
