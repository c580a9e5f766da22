#include "kvcast/base/chunk.h"

#include <array>
#include <bit>
#include <new>

#include "kvcast/base/check.h"
#include "kvcast/base/chunk_arena.h"
#include "kvcast/base/chunk_header.h"

namespace kvcast {
namespace {

constexpr size_t kSmallestCapacity = 256;
constexpr size_t kSizes = 11;  // 256 bytes to 256 KiB.

size_t SizeIndex(size_t bytes) {
  const size_t capacity = std::bit_ceil(std::max(bytes, kSmallestCapacity));
  return static_cast<size_t>(std::countr_zero(capacity / kSmallestCapacity));
}

}  // namespace

// Where chunks come back to. Any thread pushes; only the pool takes, and it takes all at once, so
// that no chunk can leave and come back between another thread's read and its exchange.
struct ChunkRef::Shelf {
  std::atomic<Header*> returned{nullptr};
  std::atomic<size_t> bytes_used{0};
  std::atomic<bool> open{true};
  std::array<Header*, kSizes> kept{};  // The pool's own thread.
  std::unique_ptr<Arena> arena;        // The same; stays until the last of its chunks is gone.

  ~Shelf() {
    FreeAll(returned.load());
    for (Header* list : kept) {
      FreeAll(list);
    }
  }

  static void FreeAll(Header* list) {
    while (list != nullptr) {
      Header* next = list->next;
      FreeHeader(list);
      list = next;
    }
  }
  Header* FromArena(size_t size) {
    return arena == nullptr || size < Arena::kFirstSize ? nullptr
                                                        : arena->Take(size - Arena::kFirstSize);
  }
};

ChunkRef::Header* ChunkRef::NewHeader(size_t capacity) {
  void* memory = ::operator new(sizeof(Header) + capacity, std::align_val_t(alignof(Header)));
  Header* header = new (memory) Header;
  header->capacity = static_cast<uint32_t>(capacity);
  header->data = static_cast<std::byte*>(memory) + sizeof(Header);
  return header;
}

void ChunkRef::FreeHeader(Header* header) {
  if (header->in_arena) {
    return;  // It goes with the arena.
  }
  header->~Header();
  ::operator delete(header, std::align_val_t(alignof(Header)));
}

ChunkRef ChunkRef::OnHeap(size_t bytes) {
  KVCAST_CHECK(bytes > 0 && bytes <= kChunkBytesMax);
  return ChunkRef(NewHeader(bytes));
}

ChunkRef::ChunkRef(const ChunkRef& other) : header_(other.header_) {
  if (header_ != nullptr) {
    header_->refs.fetch_add(1, std::memory_order_relaxed);
  }
}

size_t ChunkRef::capacity() const { return header_->capacity; }

size_t ChunkRef::memory_bytes() const {
  return (header_->in_arena ? 0 : sizeof(Header)) + header_->capacity;
}

const std::byte* ChunkRef::data() const { return header_->data; }

std::byte* ChunkRef::mutable_data() { return header_->data; }

void ChunkRef::Release() {
  Header* header = std::exchange(header_, nullptr);
  if (header == nullptr || header->refs.fetch_sub(1, std::memory_order_acq_rel) != 1) {
    return;
  }
  const std::shared_ptr<Shelf> shelf = std::move(header->shelf);
  if (shelf != nullptr) {
    shelf->bytes_used.fetch_sub(sizeof(Header) + header->capacity, std::memory_order_relaxed);
  }
  if (shelf == nullptr || !shelf->open.load(std::memory_order_relaxed)) {
    FreeHeader(header);
    return;
  }
  header->next = shelf->returned.load(std::memory_order_relaxed);
  while (!shelf->returned.compare_exchange_weak(header->next, header, std::memory_order_release,
                                                std::memory_order_relaxed)) {
  }
}

ChunkPool::ChunkPool(size_t bytes_max, ChunkMemory memory)
    : bytes_max_(bytes_max), shelf_(std::make_shared<ChunkRef::Shelf>()) {
  if (!memory.bytes.empty()) {
    shelf_->arena = std::make_unique<ChunkRef::Arena>(std::move(memory));
  }
}

// Chunks still held free themselves, or are freed with the shelf if they come back this instant.
ChunkPool::~ChunkPool() {
  shelf_->open.store(false, std::memory_order_relaxed);
  TakeReturned();
  DropKept();
}

ChunkRef ChunkPool::Allocate(size_t bytes) {
  KVCAST_CHECK(bytes > 0 && bytes <= kChunkBytesMax);
  const size_t size = SizeIndex(bytes);
  const size_t cost = sizeof(ChunkRef::Header) + (kSmallestCapacity << size);
  ChunkRef::Header* header = shelf_->FromArena(size);
  if (header == nullptr && shelf_->kept[size] == nullptr) {
    TakeReturned();
    header = shelf_->FromArena(size);
  }
  if (header == nullptr && shelf_->kept[size] == nullptr && bytes_reserved_ + cost > bytes_max_) {
    DropKept();
  }
  if (header != nullptr) {
    header->refs.store(1, std::memory_order_relaxed);
  } else if (header = shelf_->kept[size]; header != nullptr) {
    shelf_->kept[size] = std::exchange(header->next, nullptr);
    header->refs.store(1, std::memory_order_relaxed);
  } else {
    if (bytes_reserved_ + cost > bytes_max_) {
      return ChunkRef();
    }
    header = ChunkRef::NewHeader(kSmallestCapacity << size);
    bytes_reserved_ += cost;
  }
  header->shelf = shelf_;
  shelf_->bytes_used.fetch_add(cost, std::memory_order_relaxed);
  return ChunkRef(header);
}

size_t ChunkPool::bytes_used() const { return shelf_->bytes_used.load(std::memory_order_relaxed); }

size_t ChunkPool::memory_bytes() const { return shelf_->arena ? shelf_->arena->bytes() : 0; }

size_t ChunkPool::overhead_bytes() const {
  return shelf_->arena ? shelf_->arena->overhead_bytes() : 0;
}

size_t ChunkPool::CollectIdle() {
  if (shelf_->arena == nullptr) {
    return 0;
  }
  TakeReturned();
  return shelf_->arena->idle_bytes();
}

void ChunkPool::Discard(size_t bytes) {
  if (shelf_->arena != nullptr) {
    shelf_->arena->Discard(bytes);
  }
}

void ChunkPool::TakeReturned() {
  if (shelf_->returned.load(std::memory_order_relaxed) == nullptr) {
    return;
  }
  ChunkRef::Header* list = shelf_->returned.exchange(nullptr, std::memory_order_acquire);
  while (list != nullptr) {
    ChunkRef::Header* next = list->next;
    if (list->in_arena) {
      shelf_->arena->Give(list);
    } else {
      const size_t size = SizeIndex(list->capacity);
      list->next = shelf_->kept[size];
      shelf_->kept[size] = list;
    }
    list = next;
  }
}

void ChunkPool::DropKept() {
  for (ChunkRef::Header*& list : shelf_->kept) {
    for (ChunkRef::Header* header = list; header != nullptr; header = header->next) {
      bytes_reserved_ -= sizeof(ChunkRef::Header) + header->capacity;
    }
    ChunkRef::Shelf::FreeAll(std::exchange(list, nullptr));
  }
}

}  // namespace kvcast
