#pragma once

#include <sys/epoll.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "kvcast/base/result.h"
#include "kvcast/base/time.h"
#include "kvcast/io/descriptor.h"

namespace kvcast {

class EventLoop;

// Tells when a descriptor can be read or written, until it is destroyed. Belongs to the loop's
// thread, must not outlive the loop, and must not be destroyed by what it calls.
class LoopWatch {
 public:
  struct Ready {
    bool readable = false;
    bool writable = false;
  };
  // Watches for reading. `on_ready` is called for as long as there is something to read.
  static Result<std::unique_ptr<LoopWatch>> Make(EventLoop& loop, int descriptor,
                                                 std::function<void(Ready)> on_ready);
  ~LoopWatch();
  LoopWatch(const LoopWatch&) = delete;
  LoopWatch& operator=(const LoopWatch&) = delete;

  // Whether to watch for writing too: only while something waits to be written.
  void WantWritable(bool wanted);

 private:
  friend class EventLoop;
  LoopWatch(EventLoop& loop, int descriptor, std::function<void(Ready)> on_ready)
      : loop_(&loop), descriptor_(descriptor), on_ready_(std::move(on_ready)) {}

  EventLoop* loop_;
  int descriptor_;
  bool wants_writable_ = false;
  std::function<void(Ready)> on_ready_;
};

// Rings once at the time it was last set to, until it is set again. Belongs to the loop's thread,
// must not outlive the loop, and must not be destroyed while it rings.
class LoopTimer {
 public:
  LoopTimer(EventLoop& loop, std::function<void()> ring) : loop_(&loop), ring_(std::move(ring)) {}
  ~LoopTimer() { Stop(); }
  LoopTimer(const LoopTimer&) = delete;
  LoopTimer& operator=(const LoopTimer&) = delete;

  // A moment that has passed means the loop's next turn, after others had theirs.
  void Set(Instant when);
  void Stop();
  bool is_set() const { return is_set_; }

 private:
  friend class EventLoop;

  EventLoop* loop_;
  std::function<void()> ring_;
  Instant when_{};
  bool is_set_ = false;
};

// One thread's waiting: for sockets, for moments, and for work that other threads hand over.
//
// Post() and Stop() may be called from any thread, everything else only from the one that runs the
// loop. Nothing is ever called from within Set(), Post() or Make().
class EventLoop {
 public:
  static Result<std::unique_ptr<EventLoop>> Make();
  EventLoop(const EventLoop&) = delete;
  EventLoop& operator=(const EventLoop&) = delete;

  // Goes round until Stop(). A Stop() that came first counts.
  void Run();
  void Stop();
  // One turn: waits at most `timeout` for something to do, and does what there is.
  void RunOnce(Duration timeout);

  // Runs `work` in the loop's next turn.
  void Post(std::function<void()> work);

 private:
  friend class LoopWatch;
  friend class LoopTimer;

  EventLoop(Descriptor epoll, Descriptor wake) : epoll_(std::move(epoll)), wake_(std::move(wake)) {}

  void Wake();
  int Wait(Duration timeout);
  Duration UntilNextTimer(Duration timeout) const;
  void RunPosted();
  void RingTimers();
  void Forget(const LoopWatch* watch);

  static constexpr size_t kEventsMax = 64;

  Descriptor epoll_;
  Descriptor wake_;
  bool precise_ = true;  // Whether the kernel takes timeouts in nanoseconds.
  std::atomic<bool> stopping_ = false;

  std::vector<epoll_event> events_ = std::vector<epoll_event>(kEventsMax);
  std::span<epoll_event> pending_;  // Those of this turn that are not handled yet.
  std::set<std::pair<Instant, LoopTimer*>> timers_;
  bool ringing_ = false;
  Instant turn_{};  // When the timers began to ring.

  std::mutex posted_mutex_;
  std::vector<std::function<void()>> posted_;
};

}  // namespace kvcast
