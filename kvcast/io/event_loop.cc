#include "kvcast/io/event_loop.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <ctime>

#include "kvcast/io/clock.h"
#include "kvcast/io/system_error.h"

namespace kvcast {
namespace {

constexpr Duration kForever = std::chrono::hours(1);  // Going round once an hour costs nothing.

timespec ToTimespec(Duration duration) {
  const auto seconds = std::chrono::floor<std::chrono::seconds>(duration);
  return {seconds.count(), (duration - seconds).count()};
}

}  // namespace

Result<std::unique_ptr<LoopWatch>> LoopWatch::Make(EventLoop& loop, int descriptor,
                                                   std::function<void(Ready)> on_ready) {
  std::unique_ptr<LoopWatch> watch(new LoopWatch(loop, descriptor, std::move(on_ready)));
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.ptr = watch.get();
  if (::epoll_ctl(loop.epoll_.number(), EPOLL_CTL_ADD, descriptor, &event) != 0) {
    watch->descriptor_ = -1;
    return SystemError("Cannot wait for a descriptor", errno);
  }
  return watch;
}

LoopWatch::~LoopWatch() {
  if (descriptor_ >= 0) {
    ::epoll_ctl(loop_->epoll_.number(), EPOLL_CTL_DEL, descriptor_, nullptr);
    loop_->Forget(this);
  }
}

void LoopWatch::WantWritable(bool wanted) {
  if (wanted == wants_writable_) {
    return;
  }
  wants_writable_ = wanted;
  epoll_event event{};
  event.events = wanted ? EPOLLIN | EPOLLOUT : EPOLLIN;
  event.data.ptr = this;
  KVCAST_CHECK(::epoll_ctl(loop_->epoll_.number(), EPOLL_CTL_MOD, descriptor_, &event) == 0);
}

void LoopTimer::Set(Instant when) {
  if (loop_->ringing_) {
    // One that sets itself to the past must not keep the others from ringing, nor the sockets.
    when = std::max(when, loop_->turn_ + Duration(1));
  }
  if (is_set_ && when == when_) {
    return;
  }
  Stop();
  when_ = when;
  is_set_ = true;
  loop_->timers_.emplace(when_, this);
}

void LoopTimer::Stop() {
  if (is_set_) {
    loop_->timers_.erase({when_, this});
    is_set_ = false;
  }
}

Result<std::unique_ptr<EventLoop>> EventLoop::Make() {
  Descriptor epoll(::epoll_create1(EPOLL_CLOEXEC));
  Descriptor wake(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.ptr = nullptr;  // No watch: somebody wants the loop to look around.
  if (!epoll || !wake || ::epoll_ctl(epoll.number(), EPOLL_CTL_ADD, wake.number(), &event) != 0) {
    return SystemError("Cannot make an event loop", errno);
  }
  return std::unique_ptr<EventLoop>(new EventLoop(std::move(epoll), std::move(wake)));
}

void EventLoop::Run() {
  while (!stopping_.exchange(false)) {
    RunOnce(kForever);
  }
}

void EventLoop::Stop() {
  stopping_ = true;
  Wake();
}

void EventLoop::Post(std::function<void()> work) {
  {
    const std::lock_guard lock(posted_mutex_);
    posted_.push_back(std::move(work));
  }
  Wake();
}

void EventLoop::Wake() {
  const uint64_t one = 1;
  // It fails only when the counter is full, and then the loop wakes anyway.
  [[maybe_unused]] const ssize_t written = ::write(wake_.number(), &one, sizeof(one));
}

Duration EventLoop::UntilNextTimer(Duration timeout) const {
  if (timers_.empty()) {
    return timeout;
  }
  return std::clamp(timers_.begin()->first - Now(), Duration(0), timeout);
}

int EventLoop::Wait(Duration timeout) {
  const auto most = static_cast<int>(events_.size());
  if (precise_) {
    const timespec wait = ToTimespec(timeout);
    const int count = ::epoll_pwait2(epoll_.number(), events_.data(), most, &wait, nullptr);
    if (count >= 0 || errno != ENOSYS) {
      return count;
    }
    precise_ = false;
  }
  const auto wait = std::chrono::ceil<std::chrono::milliseconds>(timeout);
  return ::epoll_wait(epoll_.number(), events_.data(), most, static_cast<int>(wait.count()));
}

void EventLoop::RunOnce(Duration timeout) {
  const int count = Wait(UntilNextTimer(timeout));
  KVCAST_CHECK(count >= 0 || errno == EINTR);
  pending_ = std::span(events_).first(static_cast<size_t>(std::max(count, 0)));
  while (!pending_.empty()) {
    const epoll_event event = pending_.front();
    pending_ = pending_.subspan(1);
    if (event.data.ptr == nullptr) {
      uint64_t ignored = 0;
      [[maybe_unused]] const ssize_t got = ::read(wake_.number(), &ignored, sizeof(ignored));
    } else if (event.events != 0) {
      auto* const watch = static_cast<LoopWatch*>(event.data.ptr);
      watch->on_ready_({.readable = (event.events & ~uint32_t{EPOLLOUT}) != 0,
                        .writable = (event.events & EPOLLOUT) != 0});
    }
  }
  RunPosted();
  RingTimers();
}

void EventLoop::RunPosted() {
  std::vector<std::function<void()>> posted;
  {
    const std::lock_guard lock(posted_mutex_);
    posted.swap(posted_);
  }
  for (const auto& work : posted) {
    work();
  }
}

void EventLoop::RingTimers() {
  if (timers_.empty()) {
    return;
  }
  turn_ = Now();
  ringing_ = true;
  while (!timers_.empty() && timers_.begin()->first <= turn_) {
    LoopTimer* const timer = timers_.begin()->second;
    timer->Stop();
    timer->ring_();
  }
  ringing_ = false;
}

void EventLoop::Forget(const LoopWatch* watch) {
  for (epoll_event& event : pending_) {
    if (event.data.ptr == watch) {
      event.events = 0;
    }
  }
}

}  // namespace kvcast
