#include "kvcast/io/event_loop.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <thread>

#include "kvcast/io/clock.h"

namespace kvcast {
namespace {

using std::chrono::milliseconds;

TEST(EventLoop, TimersRingInTheirOrder) {
  const auto loop = *EventLoop::Make();
  std::string rung;
  LoopTimer last(*loop, [&] {
    rung += "c";
    loop->Stop();
  });
  LoopTimer first(*loop, [&] { rung += "a"; });
  LoopTimer middle(*loop, [&] { rung += "b"; });
  LoopTimer stopped(*loop, [&] { rung += "x"; });
  const Instant now = Now();
  last.Set(now + milliseconds(3));
  stopped.Set(now + milliseconds(2));
  middle.Set(now + milliseconds(2));
  first.Set(now + milliseconds(9));
  first.Set(now + milliseconds(1));
  stopped.Stop();
  loop->Run();
  EXPECT_EQ(rung, "abc");
}

// Else one connection that always has more to send would starve the rest.
TEST(EventLoop, ATimerThatIsAlwaysDueLeavesOthersTheirTurn) {
  const auto loop = *EventLoop::Make();
  std::array<int, 2> ends{};
  ASSERT_EQ(::pipe(ends.data()), 0);
  const Descriptor reader(ends[0]);
  const Descriptor writer(ends[1]);
  LoopTimer* busy_timer = nullptr;
  LoopTimer busy(*loop, [&] { busy_timer->Set(Instant()); });
  busy_timer = &busy;
  busy.Set(Instant());
  bool readable = false;
  const auto watch = *LoopWatch::Make(*loop, reader.number(), [&](LoopWatch::Ready ready) {
    readable = ready.readable;
    loop->Stop();
  });
  ASSERT_EQ(::write(writer.number(), "x", 1), 1);
  loop->Run();
  EXPECT_TRUE(readable);
}

TEST(EventLoop, WorkFromOtherThreadsRunsOnTheLoops) {
  const auto loop = *EventLoop::Make();
  const auto own = std::this_thread::get_id();
  std::thread::id ran_on;
  std::thread other([&] {
    loop->Post([&] {
      ran_on = std::this_thread::get_id();
      loop->Stop();
    });
  });
  loop->Run();
  other.join();
  EXPECT_EQ(ran_on, own);
}

TEST(EventLoop, AStopThatComesBeforeTheRunCounts) {
  const auto loop = *EventLoop::Make();
  loop->Stop();
  loop->Run();
}

}  // namespace
}  // namespace kvcast
