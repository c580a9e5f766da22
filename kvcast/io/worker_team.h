#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "kvcast/client/executor.h"
#include "kvcast/io/event_loop.h"

namespace kvcast {

// A few threads that run jobs, in the order in which they come, whosever they are. They are started
// with the first job.
//
// All clients of a process share one team: what bounds codec work is the machine's cores, and those
// do not become more when an engine opens another handle. What each may have waiting is bounded, so
// that nobody waits long behind others. May be used from any thread.
class WorkerTeam {
 public:
  // REQUIRES: a thread or more.
  explicit WorkerTeam(size_t threads) : size_(threads) {}
  // REQUIRES: no line is left.
  ~WorkerTeam();
  WorkerTeam(const WorkerTeam&) = delete;
  WorkerTeam& operator=(const WorkerTeam&) = delete;

  // The process's own: there for as long as somebody has it. With as many threads as was asked for
  // when it was made.
  static std::shared_ptr<WorkerTeam> OfProcess();
  // Of teams that are made for the process from now on; 0: half the cores that it may use, from 1
  // to 8. The other half is for whoever has the work done, and for the network.
  static void SetThreadsOfProcess(size_t threads);

  size_t size() const { return size_; }

 private:
  friend class TeamExecutor;
  class Line;
  struct Waiting {
    Line* line = nullptr;
    std::unique_ptr<Job> job;
  };

  void Work();

  const size_t size_;
  std::mutex mutex_;
  std::condition_variable work_;  // There is some, or never will be again.
  std::condition_variable rest_;  // A line that is being withdrawn has nothing running any more.
  std::deque<Waiting> waiting_;
  bool stopping_ = false;
  std::vector<std::thread> threads_;
};

// A team's side that faces one event loop. Belongs to the loop's thread.
class TeamExecutor final : public Executor {
 public:
  // `on_done` is called from the loop when jobs of its lines are done: once for as many as are by
  // then. Must not be destroyed by it.
  TeamExecutor(std::shared_ptr<WorkerTeam> team, EventLoop& loop, std::function<void()> on_done);
  ~TeamExecutor() override;
  TeamExecutor(const TeamExecutor&) = delete;
  TeamExecutor& operator=(const TeamExecutor&) = delete;

  std::unique_ptr<JobLine> Open() override;

 private:
  friend class WorkerTeam;
  class Bell;

  std::shared_ptr<WorkerTeam> team_;
  std::shared_ptr<Bell> bell_;
};

}  // namespace kvcast
