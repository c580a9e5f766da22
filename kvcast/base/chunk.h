#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <utility>

namespace kvcast {

class ChunkPool;

// The most one chunk holds. Large enough that a payload is a handful of chunks, small enough that
// a claimed length is never believed further than this before its bytes arrive.
inline constexpr size_t kChunkBytesMax = 256 * 1024;

// A piece of memory that is written once, by whoever allocated it, and then only read. Whoever
// holds a ChunkRef keeps it alive; the last one gives it back to its pool, on any thread.
class ChunkRef {
 public:
  ChunkRef() = default;
  ChunkRef(const ChunkRef& other);
  ChunkRef(ChunkRef&& other) noexcept : header_(std::exchange(other.header_, nullptr)) {}
  ChunkRef& operator=(ChunkRef other) noexcept {
    std::swap(header_, other.header_);
    return *this;
  }
  ~ChunkRef() { Release(); }

  // Memory from the heap, outside any pool. REQUIRES: 0 < bytes <= kChunkBytesMax.
  static ChunkRef OnHeap(size_t bytes);

  explicit operator bool() const { return header_ != nullptr; }
  size_t capacity() const;
  // What it takes of memory: its bytes and what is written in front of them; in memory that was set
  // aside nothing is, there all of that is the pool's.
  size_t memory_bytes() const;
  const std::byte* data() const;
  // For the writer alone, and only for bytes that no reader has been shown.
  std::byte* mutable_data();
  bool SameAs(const ChunkRef& other) const { return header_ == other.header_; }

 private:
  friend class ChunkPool;
  struct Header;
  struct Shelf;
  class Arena;
  explicit ChunkRef(Header* header) : header_(header) {}
  static Header* NewHeader(size_t capacity);
  static void FreeHeader(Header* header);
  void Release();

  Header* header_ = nullptr;
};

// A piece of memory that was set aside for chunks, and what has to live for as long as it is used.
struct ChunkMemory {
  std::span<std::byte> bytes;  // Aligned to 64, and to a page if any of it can be discarded.
  std::shared_ptr<const void> owner;
  size_t there_bytes = SIZE_MAX;  // From the front: the machine has memory behind them.
  // Gives whole pages back to the machine, until they are written to again; may be empty.
  std::function<void(std::span<std::byte>)> discard{};
};

// Hands out chunks in sizes of powers of two and keeps returned ones for the next caller, so that
// steady traffic allocates nothing. Counts every byte it has handed out or kept.
//
// Memory may be set aside for it: chunks of 16 KiB and more are cut from that first, by halves that
// find together again, and only then come from the heap. Smaller ones always come from the heap.
//
// Allocate() belongs to one thread; chunks may be released on any, even after the pool is gone.
class ChunkPool {
 public:
  // Chunks handed out and kept never exceed `bytes_max` together, headers included.
  // What was set aside is not part of that.
  explicit ChunkPool(size_t bytes_max, ChunkMemory memory = {});
  ~ChunkPool();
  ChunkPool(const ChunkPool&) = delete;
  ChunkPool& operator=(const ChunkPool&) = delete;

  // At least `bytes` of memory, or an empty ref when the pool's bytes are spent: the caller waits
  // or refuses, as it would for any other absent resource. REQUIRES: 0 < bytes <= kChunkBytesMax.
  ChunkRef Allocate(size_t bytes);

  // Bytes of chunks that somebody holds.
  size_t bytes_used() const;
  // Of chunks from the heap: those that somebody holds, and those kept for reuse. What was set
  // aside is not counted here.
  size_t bytes_reserved() const { return bytes_reserved_; }
  // All of the memory that was set aside; what of it never becomes a chunk; and what is in nobody's
  // hands, and not given back to the machine.
  size_t memory_bytes() const;
  size_t overhead_bytes() const;
  size_t CollectIdle();
  // Gives so much of that back, or a little more, if there is as much and it can be.
  void Discard(size_t bytes);

 private:
  void TakeReturned();
  void DropKept();

  size_t bytes_max_;
  size_t bytes_reserved_ = 0;
  std::shared_ptr<ChunkRef::Shelf> shelf_;
};

}  // namespace kvcast
