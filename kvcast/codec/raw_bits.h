#pragma once

#include <cstddef>
#include <cstdint>

namespace kvcast {

// Bits one after another, from each byte's lowest on, into bytes that are 0.
class RawBitWriter {
 public:
  explicit RawBitWriter(std::byte* to) : to_(to) {}
  void Put(uint32_t value, uint32_t bits) {
    for (uint32_t i = 0; i < bits; ++i, ++at_) {
      to_[at_ / 8] |= static_cast<std::byte>((value >> i & 1U) << (at_ % 8));
    }
  }

 private:
  std::byte* to_;
  size_t at_ = 0;
};

class RawBitReader {
 public:
  explicit RawBitReader(const std::byte* from) : from_(from) {}
  uint32_t Take(uint32_t bits) {
    uint32_t value = 0;
    for (uint32_t i = 0; i < bits; ++i, ++at_) {
      value |= (static_cast<uint32_t>(from_[at_ / 8]) >> (at_ % 8) & 1U) << i;
    }
    return value;
  }

 private:
  const std::byte* from_;
  size_t at_ = 0;
};

}  // namespace kvcast
