#include "kvcast/io/loop_thread.h"

#include <future>
#include <utility>

#include "kvcast/base/check.h"
#include "kvcast/io/quiet_thread.h"

namespace kvcast {

Result<std::unique_ptr<LoopThread>> LoopThread::Make() {
  KVCAST_TRY(std::unique_ptr<EventLoop> loop, EventLoop::Make());
  return std::unique_ptr<LoopThread>(new LoopThread(std::move(loop)));
}

LoopThread::LoopThread(std::unique_ptr<EventLoop> loop)
    : loop_(std::move(loop)), thread_(QuietThread([this] { loop_->Run(); })) {}

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
