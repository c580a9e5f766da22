#include "kvcast/io/quiet_thread.h"

#include <pthread.h>

#include <csignal>
#include <utility>

namespace kvcast {
namespace {

// A thread inherits what its maker blocks. Signals of a fault are ours.
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

}  // namespace

std::thread QuietThread(std::function<void()> run) {
  const SignalsBlocked blocked;
  return std::thread(std::move(run));
}

}  // namespace kvcast
