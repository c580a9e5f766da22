#include "kvcast/io/thread_team.h"

#include <utility>

namespace kvcast {

void ThreadTeam::Start(std::function<void()> work) {
  working_.fetch_add(1, std::memory_order_relaxed);
  threads_.emplace_back([this, work = std::move(work)] {
    work();
    working_.fetch_sub(1, std::memory_order_release);
  });
}

void ThreadTeam::Join() {
  for (std::thread& thread : threads_) {
    thread.join();
  }
  threads_.clear();
}

}  // namespace kvcast
