#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "kvcast/base/random.h"
#include "kvcast/client/executor.h"

namespace kvcast {

// An executor without threads: does each job as it comes; or, with a seed, some as they come and
// the others when it is told to go on, in an order that the seed draws.
class LocalExecutor final : public Executor {
 public:
  LocalExecutor() = default;
  explicit LocalExecutor(uint64_t seed) : random_(seed) {}
  ~LocalExecutor() override;
  LocalExecutor(const LocalExecutor&) = delete;
  LocalExecutor& operator=(const LocalExecutor&) = delete;

  std::unique_ptr<JobLine> Open() override;

  // Runs one that waits; false if none does.
  bool Step();
  size_t waiting() const { return waiting_.size(); }
  // How many were run, and how many were withdrawn before they were.
  size_t run() const { return run_; }
  size_t withdrawn() const { return withdrawn_; }

 private:
  class Line;
  struct Waiting {
    Line* line = nullptr;
    std::unique_ptr<Job> job;
  };
  void Do(Waiting work);

  std::optional<Random> random_;
  std::vector<Waiting> waiting_;
  size_t lines_ = 0;
  size_t run_ = 0;
  size_t withdrawn_ = 0;
};

}  // namespace kvcast
