#include "kvcast/client/local_executor.h"

#include <deque>
#include <utility>

#include "kvcast/base/check.h"

namespace kvcast {
namespace {

constexpr double kAtOnce = 0.25;

}  // namespace

class LocalExecutor::Line final : public JobLine {
 public:
  explicit Line(LocalExecutor& executor) : executor_(&executor) { ++executor_->lines_; }
  ~Line() override {
    Line::Withdraw();
    --executor_->lines_;
  }
  Line(const Line&) = delete;
  Line& operator=(const Line&) = delete;

  void Submit(std::unique_ptr<Job> job) override {
    if (executor_->random_ && !executor_->random_->Happens(kAtOnce)) {
      executor_->waiting_.push_back({this, std::move(job)});
    } else {
      executor_->Do({this, std::move(job)});
    }
  }
  std::unique_ptr<Job> TakeDone() override {
    if (done_.empty()) {
      return nullptr;
    }
    std::unique_ptr<Job> job = std::move(done_.front());
    done_.pop_front();
    return job;
  }
  void Withdraw() override {
    executor_->withdrawn_ +=
        std::erase_if(executor_->waiting_, [&](const Waiting& each) { return each.line == this; });
    done_.clear();
  }

  void OnRun(std::unique_ptr<Job> job) { done_.push_back(std::move(job)); }

 private:
  LocalExecutor* executor_;
  std::deque<std::unique_ptr<Job>> done_;
};

LocalExecutor::~LocalExecutor() { KVCAST_CHECK(lines_ == 0); }

std::unique_ptr<JobLine> LocalExecutor::Open() { return std::make_unique<Line>(*this); }

bool LocalExecutor::Step() {
  if (waiting_.empty()) {
    return false;
  }
  const auto drawn = waiting_.begin() + static_cast<ptrdiff_t>(random_->Below(waiting_.size()));
  Waiting work = std::move(*drawn);
  waiting_.erase(drawn);
  Do(std::move(work));
  return true;
}

void LocalExecutor::Do(Waiting work) {
  work.job->Run();
  ++run_;
  work.line->OnRun(std::move(work.job));
}

}  // namespace kvcast
