#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <utility>

#include "kvcast/base/bytes.h"
#include "kvcast/base/time.h"
#include "kvcast/moqt/transport.h"

namespace kvcast {

// DATAGRAM frames that wait to be sent: the most urgent first, and of equals the oldest, except
// that those of one request change places so that they go by group and object. One that does not
// fit is dropped, as any of them may be on its way.
class DatagramQueue {
 public:
  explicit DatagramQueue(size_t bytes_max) : bytes_max_(bytes_max) {}

  // False if it was dropped.
  bool Push(Bytes bytes, const moqt::SendOrder& order, Instant until = Instant::max()) {
    if (bytes.size() > bytes_max_ - bytes_) {
      ++gone_[order.request];
      return false;
    }
    bytes_ += bytes.size();
    Level& level = levels_[order.urgency()];
    level.turns.push_back(order.request);
    level.requests[order.request].emplace(std::pair(order.group, order.subgroup),
                                          Frame{std::move(bytes), until});
    return true;
  }

  bool empty() const { return levels_.empty(); }
  // REQUIRES of these: !empty().
  const Bytes& front() const { return Front().bytes; }
  // Until when it may be sent.
  Instant until() const { return Front().until; }
  uint32_t urgency() const { return levels_.begin()->first; }
  void Pop() {
    bytes_ -= front().size();
    Level& level = levels_.begin()->second;
    const auto request = level.requests.find(level.turns.front());
    ++gone_[request->first];
    request->second.erase(request->second.begin());
    if (request->second.empty()) {
      level.requests.erase(request);
    }
    level.turns.pop_front();
    if (level.turns.empty()) {
      levels_.erase(levels_.begin());
    }
  }

  // How many of each request's were dropped or popped, since the last call.
  std::map<uint64_t, uint64_t> TakeGone() { return std::exchange(gone_, {}); }
  bool any_gone() const { return !gone_.empty(); }

 private:
  struct Frame {
    Bytes bytes;
    Instant until;
  };
  struct Level {
    std::deque<uint64_t> turns;  // One for each frame: whose is next.
    std::map<uint64_t, std::multimap<std::pair<uint64_t, uint64_t>, Frame>> requests;
  };

  const Frame& Front() const {
    const Level& level = levels_.begin()->second;
    return level.requests.at(level.turns.front()).begin()->second;
  }

  size_t bytes_max_;
  size_t bytes_ = 0;
  std::map<uint32_t, Level> levels_;  // By urgency.
  std::map<uint64_t, uint64_t> gone_;
};

}  // namespace kvcast
