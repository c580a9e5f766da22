#include "kvcast/io/loop_thread.h"

#include <pthread.h>

#include <csignal>
#include <future>
#include <utility>

#include "kvcast/base/check.h"

namespace kvcast {
namespace {

// A thread inherits what its maker blocks. Signals that somebody sends are for threads that know
// what to do about them: in an engine's process none of ours does. Those of a fault are ours.
class SignalsBlocked {
 public:
  SignalsBlocked() {
    sigset_t all;
    sigfillset(&all);
    for (const int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS}) {
      sigdelset(&all, fault);
    }
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;

 private:
  sigset_t before_{};
};

std::thread WithoutSignals(std::function<void()> run) {
  const SignalsBlocked blocked;
  return std::thread(std::move(run));
}

}  // namespace

Result<std::unique_ptr<LoopThread>> LoopThread::Make() {
  KVCAST_TRY(std::unique_ptr<EventLoop> loop, EventLoop::Make());
  return std::unique_ptr<LoopThread>(new LoopThread(std::move(loop)));
}

LoopThread::LoopThread(std::unique_ptr<EventLoop> loop)
    : loop_(std::move(loop)), thread_(WithoutSignals([this] { loop_->Run(); })) {}

LoopThread::~LoopThread() {
  loop_->Stop();
  thread_.join();
}

void LoopThread::Run(const std::function<void()>& work) {
  KVCAST_CHECK(std::this_thread::get_id() != thread_.get_id());
  // Shared, since whoever waits may be gone before the promise has finished being kept.
  const auto done = std::make_shared<std::promise<void>>();
  loop_->Post([&work, done] {
    work();
    done->set_value();
  });
  done->get_future().wait();
}

}  // namespace kvcast
