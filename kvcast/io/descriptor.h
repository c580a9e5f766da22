#pragma once

#include <utility>

namespace kvcast {

// Owns a file descriptor: whoever holds it closes it.
class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int number) : number_(number) {}
  Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(number_, other.number_);  // The other one closes what was ours.
    return *this;
  }
  ~Descriptor();

  // -1 when there is none.
  int number() const { return number_; }
  explicit operator bool() const { return number_ >= 0; }

 private:
  int number_ = -1;
};

}  // namespace kvcast
