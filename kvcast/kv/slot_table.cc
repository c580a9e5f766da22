#include "kvcast/kv/slot_table.h"

#include <algorithm>
#include <utility>

#include "kvcast/base/check.h"

namespace kvcast {

// By a quarter and not double: what is empty is paid for, too.
size_t SlotTable::GrownSize() const {
  return std::max<size_t>(16, slots_.size() + slots_.size() / 4);
}

void SlotTable::Set(size_t at, uint64_t slot) {
  slots_[at] = slot;
  marks_[at] = slot == kEmpty ? kEmptyMark : MarkOf(TagOf(slot));
  if (at < kMarksAtOnce) {
    marks_[slots_.size() + at] = marks_[at];
  }
}

void SlotTable::Place(uint64_t slot) {
  size_t at = Home(TagOf(slot));
  while (marks_[at] != kEmptyMark) {
    at = Next(at);
  }
  Set(at, slot);
}

void SlotTable::Insert(uint32_t tag, uint32_t index) {
  KVCAST_CHECK(index != UINT32_MAX);
  if (IsFull()) {
    const size_t grown = GrownSize();
    const std::vector<uint64_t> old = std::exchange(slots_, std::vector<uint64_t>(grown));
    marks_ = std::vector<uint8_t>(grown + kMarksAtOnce, kEmptyMark);
    for (const uint64_t slot : old) {
      if (slot != kEmpty) {
        Place(slot);
      }
    }
  }
  Place(Slot(tag, index));
  ++size_;
}

void SlotTable::Erase(uint32_t tag, uint32_t index) {
  KVCAST_CHECK(!slots_.empty());
  size_t hole = Home(tag);
  while (slots_[hole] != Slot(tag, index)) {
    KVCAST_CHECK(slots_[hole] != kEmpty);
    hole = Next(hole);
  }
  // Those behind it move up, as long as that brings them no further from home: a hole in the
  // middle would end a search too early.
  for (size_t at = Next(hole); slots_[at] != kEmpty; at = Next(at)) {
    const size_t home = Home(TagOf(slots_[at]));
    const bool hole_is_between =
        home <= at ? (home <= hole && hole < at) : (home <= hole || hole < at);
    if (hole_is_between) {
      Set(hole, slots_[at]);
      hole = at;
    }
  }
  Set(hole, kEmpty);
  --size_;
}

}  // namespace kvcast
