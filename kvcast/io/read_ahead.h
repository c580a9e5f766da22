#pragma once

#include <ngtcp2/ngtcp2.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

namespace kvcast {

// Asks for memory that is about to be read, a little at a time, beside work that leaves the
// processor's way to memory free: objects lie where nobody has touched them for long.
class ReadAhead {
 public:
  // What the processor has on order at a time is bounded: more would only wait.
  static constexpr size_t kStepBytes = 2048;

  // The bytes behind the first `skipped` of these pieces, at most so many. The pieces must outlive
  // this.
  ReadAhead(std::span<const ngtcp2_vec> pieces, size_t skipped, size_t bytes_max)
      : pieces_(pieces), left_(bytes_max) {
    Move(skipped);
  }

  // Asks for the next kStepBytes. Inlined always, for g++ takes a function that only prefetches for
  // one that does nothing.
  [[gnu::always_inline]] void Step() {
    for (size_t asked = 0; asked < kStepBytes && left_ > 0 && !pieces_.empty();) {
      const size_t part = std::min({pieces_.front().len - offset_, kStepBytes - asked, left_});
      const uint8_t* const from = pieces_.front().base + offset_;
      for (size_t at = 0; at < part; at += kCacheLineBytes) {
        __builtin_prefetch(from + at, 0, 2);
      }
      asked += part;
      left_ -= part;
      Move(part);
    }
  }

 private:
  static constexpr size_t kCacheLineBytes = 64;

  void Move(size_t bytes) {
    offset_ += bytes;
    while (!pieces_.empty() && offset_ >= pieces_.front().len) {
      offset_ -= pieces_.front().len;
      pieces_ = pieces_.subspan(1);
    }
  }

  std::span<const ngtcp2_vec> pieces_;
  size_t offset_ = 0;  // In the first of them.
  size_t left_;
};

}  // namespace kvcast
