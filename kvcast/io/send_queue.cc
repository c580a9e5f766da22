#include "kvcast/io/send_queue.h"

#include "kvcast/base/check.h"

namespace kvcast {

void SendQueue::Append(Bytes bytes) {
  KVCAST_CHECK(!finished_);
  if (!bytes.empty()) {
    appended_ += bytes.size();
    items_.push_back(std::move(bytes));
  }
}

SendQueue::Gathered SendQueue::Gather(std::span<ngtcp2_vec> out, size_t bytes_wanted) const {
  Gathered gathered;
  size_t item = item_;
  size_t piece = piece_;
  size_t offset = offset_;
  while (item < items_.size() && gathered.pieces < out.size() && gathered.bytes < bytes_wanted) {
    const auto span = items_[item].piece(piece).subspan(offset);
    // The library only reads through this pointer.
    auto* const base = reinterpret_cast<uint8_t*>(const_cast<std::byte*>(span.data()));
    out[gathered.pieces++] = {base, span.size()};
    gathered.bytes += span.size();
    offset = 0;
    if (++piece == items_[item].piece_count()) {
      piece = 0;
      ++item;
    }
  }
  gathered.end = finished_ && !end_sent_ && gathered.bytes == unsent_bytes();
  return gathered;
}

void SendQueue::Sent(uint64_t bytes, bool end) {
  KVCAST_CHECK(bytes <= unsent_bytes());
  sent_ += bytes;
  end_sent_ = end_sent_ || end;
  while (bytes > 0) {
    const size_t left = items_[item_].piece(piece_).size() - offset_;
    if (bytes < left) {
      offset_ += bytes;
      return;
    }
    bytes -= left;
    offset_ = 0;
    if (++piece_ == items_[item_].piece_count()) {
      piece_ = 0;
      ++item_;
    }
  }
}

void SendQueue::Acknowledge(uint64_t offset) {
  while (item_ > 0 && start_ + items_.front().size() <= offset) {
    start_ += items_.front().size();
    items_.pop_front();
    --item_;
  }
}

void SendQueue::DropUnsent() {
  const bool in_the_middle = piece_ > 0 || offset_ > 0;
  items_.resize(item_ + (in_the_middle ? 1 : 0));
  appended_ = sent_;
  item_ = items_.size();
  piece_ = 0;
  offset_ = 0;
  finished_ = true;
  end_sent_ = true;
}

}  // namespace kvcast
