#pragma once

#include <cstddef>

namespace kvcast {

// What the allocator has given the program for `new` and not got back, with its own eight bytes in
// front of each piece.
size_t HeldBytes();

}  // namespace kvcast
