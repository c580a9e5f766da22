#pragma once

#include <algorithm>
#include <cstdint>

namespace kvcast {

// How many two-way streams a session may open in all: as many as the peer grants, and no more of
// them at a time than we are ready to keep. A peer that grants any number and ends none would fill
// our memory with requests that others make us ask it.
class StreamAllowance {
 public:
  static constexpr uint64_t kOpenMax = 16384;

  void OnGranted(uint64_t total) { granted_ = total; }
  // One of ours is over, on both sides.
  void OnClosed() { ++closed_; }
  uint64_t total() const { return std::min(granted_, closed_ + kOpenMax); }

 private:
  uint64_t granted_ = 0;
  uint64_t closed_ = 0;
};

}  // namespace kvcast
