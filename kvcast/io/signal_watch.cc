#include "kvcast/io/signal_watch.h"

#include <sys/signalfd.h>
#include <unistd.h>

#include <cerrno>

#include "kvcast/io/system_error.h"

namespace kvcast {

Result<std::unique_ptr<SignalWatch>> SignalWatch::Make(EventLoop& loop,
                                                       std::function<void()> on_stop,
                                                       std::function<void()> on_reload) {
  sigset_t signals;
  ::sigemptyset(&signals);
  ::sigaddset(&signals, SIGINT);
  ::sigaddset(&signals, SIGTERM);
  if (on_reload) {
    ::sigaddset(&signals, SIGHUP);
  }
  sigset_t before;
  if (::pthread_sigmask(SIG_BLOCK, &signals, &before) != 0) {
    return SystemError("Cannot hold signals back", errno);
  }
  std::unique_ptr<SignalWatch> watch(
      new SignalWatch(before, std::move(on_stop), std::move(on_reload)));
  watch->descriptor_ = Descriptor(::signalfd(-1, &signals, SFD_NONBLOCK | SFD_CLOEXEC));
  if (!watch->descriptor_) {
    return SystemError("Cannot wait for signals", errno);
  }
  KVCAST_TRY(watch->watch_,
             LoopWatch::Make(loop, watch->descriptor_.number(),
                             [self = watch.get()](LoopWatch::Ready) { self->OnReady(); }));
  return watch;
}

SignalWatch::~SignalWatch() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

void SignalWatch::OnReady() {
  signalfd_siginfo info{};
  while (::read(descriptor_.number(), &info, sizeof(info)) == static_cast<ssize_t>(sizeof(info))) {
    if (info.ssi_signo == SIGHUP) {
      on_reload_();
    } else {
      on_stop_();
    }
  }
}

}  // namespace kvcast
