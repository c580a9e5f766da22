#pragma once

#include <cstddef>

namespace kvcast {

// What the program has asked of the heap by `new` and not given back, to the byte.
size_t HeapBytes();

}  // namespace kvcast
