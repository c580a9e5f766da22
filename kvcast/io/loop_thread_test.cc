#include "kvcast/io/loop_thread.h"

#include <gtest/gtest.h>
#include <pthread.h>

#include <csignal>

namespace kvcast {
namespace {

TEST(LoopThread, DoesWorkElsewhereAndWaitsForIt) {
  const std::unique_ptr<LoopThread> thread = *LoopThread::Make();
  std::thread::id worker;
  int count = 0;  // Not atomic: Run() orders what both sides do.
  for (int i = 0; i < 1000; ++i) {
    thread->Run([&] {
      worker = std::this_thread::get_id();
      ++count;
    });
  }
  EXPECT_EQ(count, 1000);
  EXPECT_NE(worker, std::this_thread::get_id());
}

TEST(LoopThread, LeavesSignalsToOthers) {
  const std::unique_ptr<LoopThread> thread = *LoopThread::Make();
  sigset_t theirs;
  sigset_t ours;
  pthread_sigmask(SIG_SETMASK, nullptr, &ours);
  thread->Run([&] { pthread_sigmask(SIG_SETMASK, nullptr, &theirs); });
  EXPECT_EQ(sigismember(&theirs, SIGTERM), 1);
  EXPECT_EQ(sigismember(&theirs, SIGSEGV), 0);
  EXPECT_EQ(sigismember(&ours, SIGTERM), 0);
}

}  // namespace
}  // namespace kvcast
