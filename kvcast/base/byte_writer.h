#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "kvcast/base/bytes.h"

namespace kvcast {

// Writes values one after another into chunks of its own, and gives them away as Bytes. What is
// short, as most messages and headers are, takes no more memory than it needs: it may wait long.
class ByteWriter {
 public:
  void U8(uint8_t value) { LittleEndian(value, 1); }
  void U16Be(uint16_t value);
  void U16Le(uint16_t value) { LittleEndian(value, 2); }
  void U32Le(uint32_t value) { LittleEndian(value, 4); }
  void U64Le(uint64_t value) { LittleEndian(value, 8); }
  void Vi64(uint64_t value);
  void Write(std::span<const std::byte> bytes);
  void Write(std::string_view text) { Write(AsBytes(text)); }
  // Refers to the payload's chunks instead of copying them.
  void Share(const Bytes& bytes);

  size_t size() const { return done_.size() + staged_ + used_; }

  // What was written; the writer is empty again.
  Bytes Take();

 private:
  void LittleEndian(uint64_t value, size_t bytes);
  void CloseChunk();

  static constexpr size_t kStageBytes = 256;

  Bytes done_;
  std::array<std::byte, kStageBytes> stage_{};  // Until there is more than it holds.
  size_t staged_ = 0;
  ChunkRef chunk_;
  size_t start_ = 0;  // Of what the chunk holds beyond done_.
  size_t used_ = 0;
};

}  // namespace kvcast
