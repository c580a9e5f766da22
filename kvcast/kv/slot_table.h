#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <vector>

#include "kvcast/kv/allocation_bytes.h"

namespace kvcast {

// A hash table from 32-bit tags to the numbers of things kept elsewhere; 9 bytes a slot, linear
// probing, at most four fifths full. Things whose tags agree share it: the caller compares.
//
// A tag also says where its slot should be (in proportion to the table's size), so growing needs
// nothing but the slots themselves. Beside each slot of eight bytes there is a mark of one, in an
// array of their own: a search reads marks, eight at a time, and only the slots whose marks agree,
// so that what is not there is mostly seen in an eighth of the memory.
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
    for (size_t at = NextMarked(tag, Home(tag)); at != kNowhere; at = NextMarked(tag, Next(at))) {
      if (TagOf(slots_[at]) == tag && is_it(IndexOf(slots_[at]))) {
        return IndexOf(slots_[at]);
      }
    }
    return std::nullopt;
  }

  // Asks the memory for the marks where Find() will begin.
  void PrefetchMarks(uint32_t tag) const {
    if (!slots_.empty()) {
      __builtin_prefetch(&marks_[Home(tag)]);
    }
  }
  // Asks the memory for the slot where Find() will look first; whether there is one.
  bool PrefetchSlot(uint32_t tag) const {
    const size_t at = slots_.empty() ? kNowhere : NextMarked(tag, Home(tag));
    if (at != kNowhere) {
      __builtin_prefetch(&slots_[at]);
    }
    return at != kNowhere;
  }

  size_t size() const { return size_; }
  size_t bytes() const { return BytesOf(slots_.size()); }
  // What Insert() would add to that, at its peak: while it grows, old and new slots are both there.
  size_t bytes_to_insert() const { return IsFull() ? BytesOf(GrownSize()) : 0; }

 private:
  static constexpr size_t kNowhere = SIZE_MAX;
  static constexpr uint64_t kEmpty = 0;
  static constexpr uint8_t kEmptyMark = 0;
  // The first marks stand once more behind the last, so that eight can be read from anywhere.
  static constexpr size_t kMarksAtOnce = sizeof(uint64_t);
  static constexpr uint64_t kEachByte = 0x0101010101010101;
  static_assert(std::endian::native == std::endian::little, "the first mark is the lowest byte");

  static uint64_t Slot(uint32_t tag, uint32_t index) {
    return uint64_t{tag} << 32 | (uint64_t{index} + 1);
  }
  static uint32_t TagOf(uint64_t slot) { return static_cast<uint32_t>(slot >> 32); }
  static uint32_t IndexOf(uint64_t slot) { return static_cast<uint32_t>(slot) - 1; }
  // Of the bits that say least about where the slot is.
  static uint8_t MarkOf(uint32_t tag) { return static_cast<uint8_t>(tag % 255 + 1); }
  static size_t BytesOf(size_t slots) {
    return slots == 0
               ? 0
               : AllocationBytes(slots * sizeof(uint64_t)) + AllocationBytes(slots + kMarksAtOnce);
  }

  size_t Home(uint32_t tag) const {
    return static_cast<size_t>((uint64_t{tag} * slots_.size()) >> 32);
  }
  size_t Next(size_t at) const { return at + 1 == slots_.size() ? 0 : at + 1; }
  // Eight times the place of the first zero byte, or 64.
  static int FirstZeroByte(uint64_t word) {
    return std::countr_zero((word - kEachByte) & ~word & (kEachByte << 7)) & ~7;
  }
  // The first slot from `at` whose mark is the tag's, or kNowhere if an empty one comes before.
  size_t NextMarked(uint32_t tag, size_t at) const {
    const uint64_t sought = kEachByte * MarkOf(tag);
    while (true) {
      uint64_t marks = 0;
      std::memcpy(&marks, &marks_[at], sizeof(marks));
      const int marked = FirstZeroByte(marks ^ sought);
      const int empty = FirstZeroByte(marks);
      if (marked < empty) {
        at += static_cast<size_t>(marked) / 8;
        return at < slots_.size() ? at : at - slots_.size();
      }
      if (empty < 64) {
        return kNowhere;
      }
      at += kMarksAtOnce;
      at = at < slots_.size() ? at : at - slots_.size();
    }
  }
  bool IsFull() const { return (size_ + 1) * 5 > slots_.size() * 4; }
  size_t GrownSize() const;
  void Set(size_t at, uint64_t slot);
  void Place(uint64_t slot);

  std::vector<uint64_t> slots_;
  std::vector<uint8_t> marks_;
  size_t size_ = 0;
};

}  // namespace kvcast
