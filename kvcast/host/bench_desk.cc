#include "kvcast/host/bench_desk.h"

#include <cstdint>

namespace kvcast {

BenchDesk::BenchDesk(const RequestTrace& trace, size_t readers, size_t waiting_max)
    : trace_(&trace),
      has_readers_(readers > 0),
      waiting_max_(waiting_max),
      seen_(trace.distinct_count) {}

BenchDesk::Request BenchDesk::Take() {
  const std::vector<uint64_t>& blocks = trace_->requests[next_];
  Request request{next_++, 0};
  while (request.seen_blocks < blocks.size() && seen_[blocks[request.seen_blocks]]) {
    ++request.seen_blocks;
  }
  for (const uint64_t block : blocks) {
    seen_[block] = true;
  }
  return request;
}

std::optional<BenchDesk::Request> BenchDesk::NextToRead() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] {
    return closed_ || next_ == trace_->requests.size() || waiting_.size() + reading_ < waiting_max_;
  });
  if (closed_ || next_ == trace_->requests.size()) {
    return std::nullopt;
  }
  ++reading_;
  return Take();
}

void BenchDesk::HaveRead(const Request& request) {
  {
    const std::lock_guard lock(mutex_);
    --reading_;
    waiting_.push_back(request);
  }
  changed_.notify_all();
}

std::optional<BenchDesk::Request> BenchDesk::NextToPublish() {
  std::unique_lock lock(mutex_);
  if (!has_readers_) {
    return closed_ || next_ == trace_->requests.size() ? std::nullopt : std::optional(Take());
  }
  changed_.wait(lock, [&] {
    return closed_ || !waiting_.empty() || (next_ == trace_->requests.size() && reading_ == 0);
  });
  if (closed_ || waiting_.empty()) {
    return std::nullopt;
  }
  const Request request = waiting_.front();
  waiting_.pop_front();
  lock.unlock();
  changed_.notify_all();
  return request;
}

void BenchDesk::Close() {
  {
    const std::lock_guard lock(mutex_);
    closed_ = true;
  }
  changed_.notify_all();
}

}  // namespace kvcast
