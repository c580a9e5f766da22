#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <thread>
#include <vector>

namespace kvcast {

// Threads that work side by side and are waited for together. They block the signals that whoever
// starts them blocks. Belongs to one thread, but for working().
class ThreadTeam {
 public:
  ThreadTeam() = default;
  ~ThreadTeam() { Join(); }
  ThreadTeam(const ThreadTeam&) = delete;
  ThreadTeam& operator=(const ThreadTeam&) = delete;

  void Start(std::function<void()> work);
  // How many have not finished.
  size_t working() const { return working_.load(std::memory_order_acquire); }
  // Waits for all of them.
  void Join();

 private:
  std::vector<std::thread> threads_;
  std::atomic<size_t> working_{0};
};

}  // namespace kvcast
