#pragma once

#include <cstdint>
#include <memory>
#include <utility>

#include "kvcast/base/check.h"
#include "kvcast/client/executor.h"

namespace kvcast {

// A line with jobs of one kind, and how many bytes they are about: what bounds them.
template <typename Kind>
class CountedJobs {
 public:
  explicit CountedJobs(std::unique_ptr<JobLine> line) : line_(std::move(line)) {}

  // REQUIRES: not closed.
  void Submit(std::unique_ptr<Kind> job) {
    KVCAST_CHECK(!closed_);
    bytes_ += job->bytes();
    ++count_;
    line_->Submit(std::move(job));
  }
  std::unique_ptr<Kind> TakeDone() {
    std::unique_ptr<Job> done = count_ == 0 ? nullptr : line_->TakeDone();
    std::unique_ptr<Kind> job(static_cast<Kind*>(done.release()));
    if (job != nullptr) {
      bytes_ -= job->bytes();
      --count_;
    }
    return job;
  }
  // For good: none of them touches anything any more when this returns.
  void Close() {
    closed_ = true;
    line_->Withdraw();
    bytes_ = 0;
    count_ = 0;
  }

  // Of jobs that have not been taken out.
  bool empty() const { return count_ == 0; }
  uint64_t bytes() const { return bytes_; }

 private:
  std::unique_ptr<JobLine> line_;
  uint64_t bytes_ = 0;
  uint64_t count_ = 0;
  bool closed_ = false;
};

}  // namespace kvcast
