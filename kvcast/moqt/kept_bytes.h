#pragma once

#include <cstddef>
#include <utility>

#include "kvcast/object/track_name.h"

namespace kvcast::moqt {

// What a request makes us keep of a name: that, and once more as a key.
inline size_t KeptOf(const TrackNamespace& space) { return 2 * space.length(); }
inline size_t KeptOf(const TrackName& track) {
  return KeptOf(track.space()) + 2 * track.name().size();
}

// What the peer makes us keep of something it said, counted for its session as long as it is kept.
class KeptBytes {
 public:
  // `total` outlives it.
  KeptBytes(size_t& total, size_t bytes) : total_(&total), bytes_(bytes) { *total_ += bytes_; }
  KeptBytes(KeptBytes&& other) noexcept
      : total_(other.total_), bytes_(std::exchange(other.bytes_, 0)) {}
  KeptBytes& operator=(KeptBytes&&) = delete;
  ~KeptBytes() { *total_ -= bytes_; }

  void Set(size_t bytes) {
    *total_ += bytes - bytes_;
    bytes_ = bytes;
  }

 private:
  size_t* total_;
  size_t bytes_;
};

}  // namespace kvcast::moqt
