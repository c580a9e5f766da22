#include "kvcast/io/loop_bridge.h"

#include <gtest/gtest.h>

#include <atomic>
#include <numeric>
#include <thread>

#include "kvcast/io/loop_thread.h"

namespace kvcast {
namespace {

TEST(LoopBridge, BringsEverythingOverInItsOrder) {
  const auto first = *LoopThread::Make();
  const auto second = *LoopThread::Make();
  constexpr int kValues = 20'000;
  std::vector<int> taken;
  std::atomic<bool> done = false;
  std::thread::id taker;
  auto bridge = std::make_unique<LoopBridge<int>>(first->loop(), second->loop(),
                                                  [&](std::vector<int>& values) {
                                                    taker = std::this_thread::get_id();
                                                    for (const int value : values) {
                                                      taken.push_back(value);
                                                    }
                                                    done = taken.size() == kValues;
                                                  });
  int next = 0;
  while (next < kValues) {
    first->Run([&] {
      for (int i = 0; i < 97 && next < kValues; ++i) {
        bridge->Send(next++);
      }
    });
  }
  while (!done) {
    std::this_thread::yield();
  }
  std::vector<int> expected(kValues);
  std::iota(expected.begin(), expected.end(), 0);
  std::thread::id own;
  second->Run([&] {
    EXPECT_EQ(taken, expected);
    own = std::this_thread::get_id();
  });
  EXPECT_EQ(taker, own);
  first->Run([&] { bridge.reset(); });
}

TEST(LoopBridge, TakesATurnsValuesTogether) {
  const auto loop = *EventLoop::Make();
  size_t landings = 0;
  LoopBridge<int> bridge(*loop, *loop, [&](std::vector<int>& values) {
    ++landings;
    EXPECT_EQ(values.size(), 3u);
  });
  bridge.Send(1);
  bridge.Send(2);
  bridge.leaving().push_back(3);
  loop->RunOnce(Duration(0));
  loop->RunOnce(Duration(0));
  EXPECT_EQ(landings, 1u);
}

TEST(LoopBridge, TakesNothingOnceItIsClosed) {
  const auto loop = *EventLoop::Make();
  LoopBridge<int> bridge(*loop, *loop, [](std::vector<int>&) { ADD_FAILURE(); });
  bridge.Send(1);
  loop->RunOnce(Duration(0));
  bridge.Close();
  loop->RunOnce(Duration(0));
}

}  // namespace
}  // namespace kvcast
