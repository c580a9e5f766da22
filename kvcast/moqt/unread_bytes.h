#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "kvcast/base/bytes.h"

namespace kvcast::moqt {

// What arrived on a stream and is to be read later, because nobody takes what was read before. It
// is read in steps, and what is left is not copied again.
class UnreadBytes {
 public:
  size_t size() const { return bytes_.size() - at_; }
  bool empty() const { return size() == 0; }

  // To be read later. While it is being read, `bytes` is what is left of it.
  void Keep(std::span<const std::byte> bytes) {
    if (reading_) {
      at_ = bytes_.size() - bytes.size();
    } else {
      bytes_.append(AsText(bytes));
    }
  }
  // All of it is being read, but for what is kept before EndReading().
  std::span<const std::byte> BeginReading() {
    reading_ = true;
    const std::span<const std::byte> rest = AsBytes(bytes_).subspan(at_);
    at_ = bytes_.size();
    return rest;
  }
  void EndReading() {
    reading_ = false;
    if (empty()) {
      Drop();
    }
  }
  // Nobody wants it any more.
  void Drop() {
    at_ = bytes_.size();
    if (!reading_) {
      bytes_ = std::string();
      at_ = 0;
    }
  }

 private:
  std::string bytes_;
  size_t at_ = 0;  // How much of them was read.
  bool reading_ = false;
};

}  // namespace kvcast::moqt
