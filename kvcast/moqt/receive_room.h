#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace kvcast::moqt {

// Room for what comes, of sessions that share it: those of one peer, or all that there are. What
// counts has arrived, and is neither whole nor taken.
//
// From half of the bytes on, sessions that have more than half of an equal part of them slow their
// peers down, as when they are full by themselves. At all of them, what brings more to one that has
// more than its part is refused; and where those that bring it have not, whoever looks after the
// sessions hears of it (RoomWanted), to take it from who has most.
class ReceiveRoom {
 public:
  // However many share, each may have this much: else nobody would get on.
  static constexpr size_t kLeast = 256 * 1024;

  explicit ReceiveRoom(size_t bytes_max = SIZE_MAX, size_t streams_max = SIZE_MAX) {
    SetMost(bytes_max, streams_max);
  }
  ReceiveRoom(const ReceiveRoom&) = delete;
  ReceiveRoom& operator=(const ReceiveRoom&) = delete;

  void SetMost(size_t bytes_max, size_t streams_max) {
    bytes_max_ = bytes_max;
    streams_max_ = streams_max;
  }

  size_t bytes() const { return bytes_; }
  size_t bytes_max() const { return bytes_max_; }
  size_t streams() const { return streams_; }
  // Equal parts of all of it, for those who have anything.
  size_t part() const { return std::max(kLeast, bytes_max_ / std::max<size_t>(sharing_, 1)); }
  bool scarce() const { return bytes_ > bytes_max_ / 2; }
  bool over() const { return bytes_ > bytes_max_; }
  bool HasStream() const { return streams_ < streams_max_; }

 private:
  friend class ReceivedBytes;

  size_t bytes_max_ = SIZE_MAX;
  size_t streams_max_ = SIZE_MAX;
  size_t bytes_ = 0;
  size_t sharing_ = 0;  // Sessions that have any.
  size_t streams_ = 0;
};

}  // namespace kvcast::moqt
