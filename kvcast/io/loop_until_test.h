#pragma once

#include <chrono>
#include <functional>

#include "kvcast/io/clock.h"
#include "kvcast/io/event_loop.h"

namespace kvcast {

// Turns the loop until `done`, or for as long as patience lasts; whether it is done.
inline bool LoopUntil(EventLoop& loop, Duration patience, const std::function<bool()>& done) {
  const Instant deadline = Now() + patience;
  while (!done()) {
    if (Now() > deadline) {
      return false;
    }
    loop.RunOnce(std::chrono::milliseconds(100));
  }
  return true;
}

}  // namespace kvcast
