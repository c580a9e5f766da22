#pragma once

#include <functional>
#include <thread>

namespace kvcast {

// A thread that signals which are sent to the process never interrupt: those are for threads that
// know what to do about them, and in an engine's process none of ours does.
std::thread QuietThread(std::function<void()> run);

}  // namespace kvcast
