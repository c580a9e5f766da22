#pragma once

#include <csignal>
#include <functional>
#include <memory>
#include <utility>

#include "kvcast/base/result.h"
#include "kvcast/io/descriptor.h"
#include "kvcast/io/event_loop.h"

namespace kvcast {

// Being asked to stop, by Ctrl-C or by whoever started us (SIGINT, SIGTERM), told to a loop instead
// of ending the process; and, by who wants to hear of it, being asked to read the configuration
// again (SIGHUP).
//
// The signals are held back from the thread that makes it, and from threads that it starts from
// then on: make it before any other. When it is destroyed, they end the process again.
class SignalWatch {
 public:
  static Result<std::unique_ptr<SignalWatch>> Make(EventLoop& loop, std::function<void()> on_stop,
                                                   std::function<void()> on_reload = nullptr);
  ~SignalWatch();
  SignalWatch(const SignalWatch&) = delete;
  SignalWatch& operator=(const SignalWatch&) = delete;

 private:
  SignalWatch(const sigset_t& before, std::function<void()> on_stop,
              std::function<void()> on_reload)
      : before_(before), on_stop_(std::move(on_stop)), on_reload_(std::move(on_reload)) {}
  void OnReady();

  sigset_t before_;
  std::function<void()> on_stop_;
  std::function<void()> on_reload_;
  Descriptor descriptor_;
  std::unique_ptr<LoopWatch> watch_;
};

}  // namespace kvcast
