#include "kvcast/base/chunk_arena.h"

#include <algorithm>
#include <bit>
#include <new>
#include <utility>

#include "kvcast/base/chunk_header.h"

namespace kvcast {
namespace {

// Blocks begin with a page, so that they can be given back: their headers fill whole ones.
constexpr size_t kArenaPageBytes = 4096;

}  // namespace

ChunkRef::Arena::Arena(ChunkMemory memory) : memory_(std::move(memory)) {
  const size_t most = memory_.bytes.size() - std::min(memory_.bytes.size(), kArenaPageBytes);
  units_ = most / (kUnitBytes + sizeof(Header));
  headers_ = reinterpret_cast<Header*>(memory_.bytes.data());
  const size_t pages = (units_ * sizeof(Header) + kArenaPageBytes - 1) / kArenaPageBytes;
  std::byte* const data = memory_.bytes.data() + pages * kArenaPageBytes;
  for (size_t unit = 0; unit < units_; ++unit) {
    Header* const header = new (headers_ + unit) Header;
    header->data = data + unit * kUnitBytes;
    header->in_arena = true;
    header->resident = pages * kArenaPageBytes + (unit + 1) * kUnitBytes <= memory_.there_bytes;
  }
  for (size_t unit = 0; unit < units_;) {
    size_t order = kOrders - 1;
    while (unit % (size_t{1} << order) != 0 || unit + (size_t{1} << order) > units_) {
      --order;
    }
    Free(headers_ + unit, order);
    unit += size_t{1} << order;
  }
}

ChunkRef::Arena::~Arena() {
  for (size_t unit = 0; unit < units_; ++unit) {
    headers_[unit].~Header();
  }
}

ChunkRef::Header* ChunkRef::Arena::Take(size_t order) {
  Header* block = nullptr;
  size_t from = order;
  for (const bool cold : {false, true}) {
    for (from = order; from < kOrders && block == nullptr; ++from) {
      block = HeadOf(free_[from], cold);
    }
    if (block != nullptr) {
      break;
    }
  }
  if (block == nullptr) {
    return nullptr;
  }
  Unlist(block, --from);
  while (from > order) {
    --from;
    Free(block + (size_t{1} << from), from);
  }
  block->capacity = static_cast<uint32_t>(kUnitBytes << order);
  for (size_t unit = 0; unit < size_t{1} << order; ++unit) {
    block[unit].resident = true;  // It is about to be written to.
  }
  return block;
}

void ChunkRef::Arena::Give(Header* block) {
  size_t order = OrderOf(*block);
  while (order + 1 < kOrders) {
    const size_t unit = static_cast<size_t>(block - headers_);
    const size_t other = unit ^ (size_t{1} << order);
    if (other >= units_ || !headers_[other].free || OrderOf(headers_[other]) != order) {
      break;
    }
    Unlist(headers_ + other, order);
    block = headers_ + std::min(unit, other);
    ++order;
  }
  Free(block, order);
}

void ChunkRef::Arena::Discard(size_t bytes) {
  size_t discarded = 0;
  for (size_t order = kOrders; order-- > 0 && memory_.discard;) {
    while (discarded < bytes && free_[order].warm != nullptr) {
      Header* const block = free_[order].warm;
      discarded += ResidentBytes(block, order);
      Unlist(block, order);
      memory_.discard({block->data, kUnitBytes << order});
      for (size_t unit = 0; unit < size_t{1} << order; ++unit) {
        block[unit].resident = false;
      }
      Free(block, order);
    }
  }
}

size_t ChunkRef::Arena::OrderOf(const Header& header) {
  return static_cast<size_t>(std::countr_zero(header.capacity / kUnitBytes));
}

size_t ChunkRef::Arena::ResidentBytes(const Header* block, size_t order) const {
  size_t bytes = 0;
  for (size_t unit = 0; unit < size_t{1} << order; ++unit) {
    bytes += block[unit].resident ? kUnitBytes : 0;
  }
  return bytes;
}

void ChunkRef::Arena::Free(Header* block, size_t order) {
  const size_t resident = ResidentBytes(block, order);
  block->capacity = static_cast<uint32_t>(kUnitBytes << order);
  block->free = true;
  block->among_cold = resident == 0;
  Header*& head = HeadOf(free_[order], block->among_cold);
  block->before = nullptr;
  block->next = head;
  if (head != nullptr) {
    head->before = block;
  }
  head = block;
  idle_bytes_ += resident;
}

void ChunkRef::Arena::Unlist(Header* block, size_t order) {
  (block->before != nullptr ? block->before->next : HeadOf(free_[order], block->among_cold)) =
      block->next;
  if (block->next != nullptr) {
    block->next->before = block->before;
  }
  block->next = nullptr;
  block->free = false;
  idle_bytes_ -= ResidentBytes(block, order);
}

}  // namespace kvcast
