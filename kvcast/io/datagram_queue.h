#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>

#include "kvcast/base/bytes.h"
#include "kvcast/moqt/transport.h"

namespace kvcast {

// DATAGRAM frames that wait to be sent: the most urgent first, and of equals the oldest. One that
// does not fit is dropped, as any of them may be on its way.
class DatagramQueue {
 public:
  explicit DatagramQueue(size_t bytes_max) : bytes_max_(bytes_max) {}

  // False if it was dropped.
  bool Push(Bytes bytes, const moqt::SendOrder& order) {
    if (bytes.size() > bytes_max_ - bytes_) {
      return false;
    }
    bytes_ += bytes.size();
    waiting_.emplace(order, std::move(bytes));
    return true;
  }

  bool empty() const { return waiting_.empty(); }
  // REQUIRES of these: !empty().
  const Bytes& front() const { return waiting_.begin()->second; }
  const moqt::SendOrder& order() const { return waiting_.begin()->first; }
  void Pop() {
    bytes_ -= front().size();
    waiting_.erase(waiting_.begin());
  }

 private:
  size_t bytes_max_;
  size_t bytes_ = 0;
  std::multimap<moqt::SendOrder, Bytes> waiting_;
};

}  // namespace kvcast
