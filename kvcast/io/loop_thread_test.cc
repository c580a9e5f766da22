#include "kvcast/io/loop_thread.h"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace kvcast
