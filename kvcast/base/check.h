#pragma once

// Our own fault stops the process: carrying on after a broken invariant could hand an engine
// wrong bytes. A peer's or a machine's fault is a Result instead.
#define KVCAST_CHECK(condition)                              \
  do {                                                       \
    if (!(condition)) [[unlikely]] {                         \
      ::kvcast::CheckFailed(#condition, __FILE__, __LINE__); \
    }                                                        \
  } while (false)

namespace kvcast {

[[noreturn]] void CheckFailed(const char* condition, const char* file, int line);

}  // namespace kvcast
