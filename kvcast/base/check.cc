#include "kvcast/base/check.h"

#include <cstdio>
#include <cstdlib>

namespace kvcast {

void CheckFailed(const char* condition, const char* file, int line) {
  (void)std::fprintf(stderr, "kvcast: %s:%d: check failed: %s\n", file, line, condition);
  std::abort();
}

}  // namespace kvcast
