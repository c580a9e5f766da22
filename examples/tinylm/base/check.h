#pragma once

#include <cstdio>
#include <cstdlib>

// Our own fault stops the program: a model that goes on from wrong numbers writes wrong text.
#define TINYLM_CHECK(condition)                                                    \
  do {                                                                             \
    if (!(condition)) [[unlikely]] {                                               \
      std::fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition); \
      std::abort();                                                                \
    }                                                                              \
  } while (false)
