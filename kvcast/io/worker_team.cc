#include "kvcast/io/worker_team.h"

#include <algorithm>
#include <atomic>
#include <utility>

#include "kvcast/base/check.h"
#include "kvcast/io/cgroup_limits.h"
#include "kvcast/io/quiet_thread.h"

namespace kvcast {
namespace {

constexpr size_t kThreadsMax = 8;

// What one team is made from, and the next if that has gone.
struct OfAll {
  std::mutex mutex;
  std::weak_ptr<WorkerTeam> team;
  size_t threads = 0;
};

OfAll& OfThisProcess() {
  static OfAll* const all = new OfAll;  // Never destroyed: engines end as they like.
  return *all;
}

size_t UsualThreads() {
  double cores = std::max(std::thread::hardware_concurrency(), 1U);
  cores = std::min(cores, ReadCgroupLimits().cores_max.value_or(cores));
  return std::clamp<size_t>(static_cast<size_t>(cores / 2), 1, kThreadsMax);
}

}  // namespace

// Rung by threads of the team, heard by the loop.
class TeamExecutor::Bell {
 public:
  Bell(EventLoop& loop, std::function<void()> on_done)
      : loop_(&loop), on_done_(std::move(on_done)) {}

  // After a job was put where it is taken from. Does nothing while the loop has not come to it.
  static void Ring(const std::shared_ptr<Bell>& bell) {
    if (bell->rung_.exchange(true)) {
      return;
    }
    const std::lock_guard lock(bell->mutex_);
    if (bell->loop_ != nullptr) {
      bell->loop_->Post([bell] { bell->Answer(); });
    }
  }
  // On the loop's thread.
  void Close() {
    on_done_ = nullptr;
    const std::lock_guard lock(mutex_);
    loop_ = nullptr;
  }

 private:
  void Answer() {
    rung_.exchange(false);  // Before looking: what ends from now on rings again.
    if (on_done_) {
      on_done_();
    }
  }

  std::atomic<bool> rung_ = false;
  std::mutex mutex_;
  EventLoop* loop_;                // Null when nobody listens any more.
  std::function<void()> on_done_;  // The loop's thread alone.
};

// All of it but the reference to the bell is guarded by the team's mutex.
class WorkerTeam::Line final : public JobLine {
 public:
  Line(std::shared_ptr<WorkerTeam> team, std::shared_ptr<TeamExecutor::Bell> bell)
      : team_(std::move(team)), bell_(std::move(bell)) {}
  ~Line() override { Line::Withdraw(); }
  Line(const Line&) = delete;
  Line& operator=(const Line&) = delete;

  void Submit(std::unique_ptr<Job> job) override {
    {
      const std::lock_guard lock(team_->mutex_);
      team_->waiting_.push_back({this, std::move(job)});
      while (team_->threads_.size() < team_->size_) {
        team_->threads_.push_back(QuietThread([team = team_.get()] { team->Work(); }));
      }
    }
    team_->work_.notify_one();
  }

  std::unique_ptr<Job> TakeDone() override {
    const std::lock_guard lock(team_->mutex_);
    if (done_.empty()) {
      return nullptr;
    }
    std::unique_ptr<Job> job = std::move(done_.front());
    done_.pop_front();
    return job;
  }

  void Withdraw() override {
    std::deque<Waiting> kept;
    std::vector<std::unique_ptr<Job>> dropped;  // And freed when nobody is kept waiting by it.
    std::unique_lock lock(team_->mutex_);
    for (Waiting& each : std::exchange(team_->waiting_, {})) {
      if (each.line == this) {
        dropped.push_back(std::move(each.job));
      } else {
        kept.push_back(std::move(each));
      }
    }
    team_->waiting_ = std::move(kept);
    team_->rest_.wait(lock, [&] { return running_ == 0; });
    for (std::unique_ptr<Job>& job : std::exchange(done_, {})) {
      dropped.push_back(std::move(job));
    }
    lock.unlock();
  }

 private:
  friend class WorkerTeam;

  const std::shared_ptr<WorkerTeam> team_;
  const std::shared_ptr<TeamExecutor::Bell> bell_;
  size_t running_ = 0;
  std::deque<std::unique_ptr<Job>> done_;
};

WorkerTeam::~WorkerTeam() {
  {
    const std::lock_guard lock(mutex_);
    KVCAST_CHECK(waiting_.empty());
    stopping_ = true;
  }
  work_.notify_all();
  for (std::thread& thread : threads_) {
    thread.join();
  }
}

// A line is not destroyed while a job of it runs; when that is done it may be.
void WorkerTeam::Work() {
  std::unique_lock lock(mutex_);
  while (true) {
    work_.wait(lock, [&] { return stopping_ || !waiting_.empty(); });
    if (waiting_.empty()) {
      return;
    }
    Waiting next = std::move(waiting_.front());
    waiting_.pop_front();
    ++next.line->running_;
    lock.unlock();
    next.job->Run();
    lock.lock();
    const std::shared_ptr<TeamExecutor::Bell> bell = next.line->bell_;
    next.line->done_.push_back(std::move(next.job));
    if (--next.line->running_ == 0) {
      rest_.notify_all();
    }
    lock.unlock();
    TeamExecutor::Bell::Ring(bell);
    lock.lock();
  }
}

std::shared_ptr<WorkerTeam> WorkerTeam::OfProcess() {
  OfAll& all = OfThisProcess();
  const std::lock_guard lock(all.mutex);
  std::shared_ptr<WorkerTeam> team = all.team.lock();
  if (team == nullptr) {
    team = std::make_shared<WorkerTeam>(all.threads == 0 ? UsualThreads() : all.threads);
    all.team = team;
  }
  return team;
}

void WorkerTeam::SetThreadsOfProcess(size_t threads) {
  OfAll& all = OfThisProcess();
  const std::lock_guard lock(all.mutex);
  all.threads = threads;
}

TeamExecutor::TeamExecutor(std::shared_ptr<WorkerTeam> team, EventLoop& loop,
                           std::function<void()> on_done)
    : team_(std::move(team)), bell_(std::make_shared<Bell>(loop, std::move(on_done))) {}

TeamExecutor::~TeamExecutor() { bell_->Close(); }

std::unique_ptr<JobLine> TeamExecutor::Open() {
  return std::make_unique<WorkerTeam::Line>(team_, bell_);
}

}  // namespace kvcast
