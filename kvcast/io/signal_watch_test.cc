#include "kvcast/io/signal_watch.h"

#include <gtest/gtest.h>

namespace kvcast {
namespace {

TEST(SignalWatch, TellsTheLoopInsteadOfEndingTheProcess) {
  const auto loop = *EventLoop::Make();
  int asked = 0;
  {
    const auto watch = *SignalWatch::Make(*loop, [&] { ++asked; });
    ASSERT_EQ(::raise(SIGTERM), 0);
    ASSERT_EQ(::raise(SIGINT), 0);
    while (asked < 2) {
      loop->RunOnce(std::chrono::seconds(1));
    }
  }
  EXPECT_EQ(asked, 2);
  sigset_t held;
  ASSERT_EQ(::pthread_sigmask(SIG_BLOCK, nullptr, &held), 0);
  EXPECT_EQ(::sigismember(&held, SIGTERM), 0);
}

TEST(SignalWatch, TellsStoppingFromReloading) {
  const auto loop = *EventLoop::Make();
  int stops = 0;
  int reloads = 0;
  const auto watch = *SignalWatch::Make(
      *loop, [&] { ++stops; }, [&] { ++reloads; });
  ASSERT_EQ(::raise(SIGHUP), 0);
  ASSERT_EQ(::raise(SIGTERM), 0);
  while (stops + reloads < 2) {
    loop->RunOnce(std::chrono::seconds(1));
  }
  EXPECT_EQ(stops, 1);
  EXPECT_EQ(reloads, 1);
}

}  // namespace
}  // namespace kvcast
