#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

namespace kvcast {

// A fuzzer's bytes as choices and contents, for fuzzers that play a peer; zeros once they are
// spent.
class FuzzInput {
 public:
  FuzzInput(const uint8_t* data, size_t size) : data_(data), size_(size) {}

  bool done() const { return size_ == 0; }
  uint8_t Byte() {
    if (size_ == 0) {
      return 0;
    }
    --size_;
    return *data_++;
  }
  // At most so many.
  std::span<const std::byte> Bytes(size_t length) {
    length = std::min(length, size_);
    const auto bytes = std::as_bytes(std::span(data_, length));
    data_ += length;
    size_ -= length;
    return bytes;
  }

 private:
  const uint8_t* data_;
  size_t size_;
};

}  // namespace kvcast
