#pragma once

#include <cstdint>

namespace kvcast {

// What the kernel allows this process. The largest value means no limit.
struct ProcessLimits {
  uint64_t open_files = 0;      // As it is set,
  uint64_t open_files_max = 0;  // and as far as the process may raise it itself.
  uint64_t locked_bytes = 0;    // Memory that may be pinned, which io_uring's buffers are.
};

ProcessLimits ReadProcessLimits();
// Has as many files open as the process may allow itself: shells and service managers begin with a
// thousand, for programs that know no better.
void RaiseOpenFiles();

}  // namespace kvcast
