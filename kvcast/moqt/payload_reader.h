#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "kvcast/base/bytes.h"

namespace kvcast::moqt {

// A payload from bytes in any cut, copied once, into the chunks it stays in.
//
// Its length is a claim: a chunk is never larger than what has already arrived, or 16 KiB. A pool
// has chunks of a few sizes only: what would leave an eighth of one empty gets the next smaller,
// and if that is less than 16 KiB, comes from the heap.
class PayloadReader {
 public:
  // REQUIRES: length > 0. `pool` may be null.
  void Begin(uint64_t length, ChunkPool* pool) {
    missing_ = length;
    pool_ = pool;
  }

  // Takes bytes off the front of `in`; true once the payload is whole.
  bool Read(std::span<const std::byte>& in);

  // The memory it takes, which is more than what has arrived.
  size_t held_bytes() const { return done_.size() + (chunk_ ? chunk_.capacity() : 0); }
  // What has yet to arrive.
  uint64_t missing_bytes() const { return missing_; }
  // The payload; the reader may begin again.
  Bytes Take();

 private:
  ChunkRef NewChunk(size_t bytes);

  ChunkPool* pool_ = nullptr;
  Bytes done_;
  ChunkRef chunk_;
  size_t used_ = 0;
  uint64_t missing_ = 0;
};

}  // namespace kvcast::moqt
