#pragma once

#include <functional>
#include <memory>
#include <thread>

#include "kvcast/base/result.h"
#include "kvcast/io/event_loop.h"

namespace kvcast {

// An event loop that runs on a thread of its own, from Make() until it is destroyed. Signals that
// are sent to the process go to others.
class LoopThread {
 public:
  static Result<std::unique_ptr<LoopThread>> Make();
  // What belongs to the loop must be gone by then.
  ~LoopThread();
  LoopThread(const LoopThread&) = delete;
  LoopThread& operator=(const LoopThread&) = delete;

  EventLoop& loop() { return *loop_; }
  // Does `work` on the loop's thread and waits for it. Never from that thread itself.
  void Run(const std::function<void()>& work);

 private:
  explicit LoopThread(std::unique_ptr<EventLoop> loop);

  std::unique_ptr<EventLoop> loop_;
  std::thread thread_;
};

}  // namespace kvcast
