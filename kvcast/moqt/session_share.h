#pragma once

#include <cstdint>

namespace kvcast::moqt {

// Which of the sessions it is that use one connection together, see Junction. Ids and aliases of
// their own must differ: each takes every so-manyth.
struct SessionShare {
  uint64_t index = 0;
  uint64_t count = 1;

  bool alone() const { return count == 1; }
};

}  // namespace kvcast::moqt
