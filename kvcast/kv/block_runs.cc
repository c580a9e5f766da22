#include "kvcast/kv/block_runs.h"

#include <algorithm>
#include <cstring>

#include "kvcast/base/check.h"

namespace kvcast {
namespace {

constexpr size_t kCacheLineBytes = 64;
// How many free places may be set aside in any case: those of 64 publishers.
constexpr size_t kSetAsideMin = 512;

bool BeginsLike(const Digest& a, const Digest& b) {
  uint64_t first_of_a = 0;
  uint64_t first_of_b = 0;
  std::memcpy(&first_of_a, a.bytes.data(), sizeof(first_of_a));
  std::memcpy(&first_of_b, b.bytes.data(), sizeof(first_of_b));
  return first_of_a == first_of_b;
}

}  // namespace

uint32_t BlockRuns::EmptiestRun() const {
  for (size_t free = kRunBlocks; free > 0; --free) {
    if (lists_[free].first != kNone) {
      return lists_[free].first;
    }
  }
  return kNone;
}

uint32_t BlockRuns::NextRun(uint32_t near) const {
  if (near != kNone && HasFreePlace(near / kRunBlocks)) {
    return near / kRunBlocks;
  }
  if (lists_[kRunBlocks].first != kNone) {
    return lists_[kRunBlocks].first;
  }
  // Sharing runs costs time later, a new run costs memory now: an eighth may be lost so.
  if (free_idle_ <= size_ / 8) {
    return kNone;
  }
  return HasFreePlace(commons_) && runs_[commons_].list != kSetAside ? commons_ : EmptiestRun();
}

void BlockRuns::Enlist(uint32_t number, uint8_t list) {
  Run& run = runs_[number];
  run.list = list;
  run.next = kNone;
  run.previous = lists_[list].last;
  (run.previous == kNone ? lists_[list].first : runs_[run.previous].next) = number;
  lists_[list].last = number;
  FreeIn(list) += run.free_count();
}

void BlockRuns::Unlist(uint32_t number) {
  Run& run = runs_[number];
  if (run.list == kFull) {
    return;
  }
  List& list = lists_[run.list];
  (run.previous == kNone ? list.first : runs_[run.previous].next) = run.next;
  (run.next == kNone ? list.last : runs_[run.next].previous) = run.previous;
  FreeIn(run.list) -= run.free_count();
  run.list = kFull;
}

uint32_t BlockRuns::Take(uint32_t near, bool may_grow) {
  uint32_t number = NextRun(near);
  if (number == kNone && may_grow) {
    number = runs_.Allocate();
  } else if (number == kNone) {
    number = EmptiestRun() != kNone ? EmptiestRun() : lists_[kSetAside].first;
  }
  KVCAST_CHECK(number != kNone);
  Run& run = runs_[number];
  const bool set_aside = run.list == kSetAside || run.taken == 0;
  Unlist(number);
  if (!set_aside) {
    commons_ = number;
  }
  const uint32_t place = static_cast<uint32_t>(std::countr_one(run.taken));
  run.taken = static_cast<uint8_t>(run.taken | 1u << place);
  ++size_;
  if (run.free_count() > 0) {
    Enlist(number, set_aside ? kSetAside : static_cast<uint8_t>(run.free_count()));
  }
  while (free_set_aside_ > std::max(kSetAsideMin, size_ / 4)) {
    const uint32_t oldest = lists_[kSetAside].first;
    Unlist(oldest);
    Enlist(oldest, static_cast<uint8_t>(runs_[oldest].free_count()));
  }
  return number * kRunBlocks + place;
}

void BlockRuns::Free(uint32_t number) {
  const uint32_t run_number = number / kRunBlocks;
  Run& run = runs_[run_number];
  // A run that has become empty is as good as new for anybody.
  const bool set_aside = run.list == kSetAside && std::popcount(run.taken) > 1;
  Unlist(run_number);
  run.taken = static_cast<uint8_t>(run.taken & ~(1u << number % kRunBlocks));
  run.blocks[number % kRunBlocks] = Block();
  --size_;
  Enlist(run_number, set_aside ? kSetAside : static_cast<uint8_t>(run.free_count()));
}

uint32_t BlockRuns::FindInRunOf(uint32_t number, const Digest& digest) const {
  const Run& run = runs_[number / kRunBlocks];
  const uint32_t first = number - number % kRunBlocks;
  for (uint32_t i = 1; i < kRunBlocks; ++i) {
    const uint32_t place = (number + i) % kRunBlocks;
    const Digest& other = run.blocks[place].digest;
    if (BeginsLike(other, digest) && other == digest && (run.taken >> place & 1) != 0) {
      return first + place;
    }
  }
  return kNone;
}

void BlockRuns::PrefetchRunOf(uint32_t number) const {
  const auto* const run = reinterpret_cast<const std::byte*>(&runs_[number / kRunBlocks]);
  for (size_t ahead = 0; ahead < sizeof(Run); ahead += kCacheLineBytes) {
    __builtin_prefetch(run + ahead);
  }
}

void BlockRuns::Prefetch(uint32_t number) const {
  const auto* const block = reinterpret_cast<const std::byte*>(&(*this)[number]);
  __builtin_prefetch(block);
  __builtin_prefetch(block + sizeof(Block) - 1);
}

}  // namespace kvcast
