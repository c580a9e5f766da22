#pragma once

#include <array>
#include <cstddef>

#include "kvcast/base/chunk.h"

namespace kvcast {

// Memory that was set aside for chunks, cut into units of 16 KiB. A block is a power of two of
// units and begins at a multiple of its length; two halves of a block that are both free are one
// again. The header of a block is that of its first unit.
//
// What is free may be given back to the machine, which then gives it again when it is written to:
// such memory is cold, and handed out only when there is no other.
class ChunkRef::Arena {
 public:
  static constexpr size_t kUnitBytes = 16 * 1024;
  static constexpr size_t kOrders = 5;     // 16 to 256 KiB.
  static constexpr size_t kFirstSize = 6;  // What the pool calls a unit's size.

  explicit Arena(ChunkMemory memory);
  ~Arena();
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  // Null if there is no block of this order, nor a larger one.
  Header* Take(size_t order);
  void Give(Header* header);
  // Gives free memory back to the machine: at least so many bytes, if there are as many.
  void Discard(size_t bytes);

  size_t bytes() const { return memory_.bytes.size(); }
  // Headers, and what is left over at both ends.
  size_t overhead_bytes() const { return memory_.bytes.size() - units_ * kUnitBytes; }
  // Free, and not given back.
  size_t idle_bytes() const { return idle_bytes_; }

 private:
  struct FreeBlocks {
    Header* warm = nullptr;  // Some unit of each has memory behind it.
    Header* cold = nullptr;
  };

  static size_t OrderOf(const Header& header);
  static Header*& HeadOf(FreeBlocks& blocks, bool cold) { return cold ? blocks.cold : blocks.warm; }
  size_t ResidentBytes(const Header* block, size_t order) const;
  void Free(Header* block, size_t order);
  void Unlist(Header* block, size_t order);

  ChunkMemory memory_;
  Header* headers_ = nullptr;
  size_t units_ = 0;
  size_t idle_bytes_ = 0;
  std::array<FreeBlocks, kOrders> free_{};
};

}  // namespace kvcast
