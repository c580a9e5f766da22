#pragma once

#include <cstdint>
#include <string_view>

#include "kvcast/base/result.h"
#include "kvcast/io/memory_probe.h"

namespace kvcast {

// How many bytes a node keeps blocks in. `asked` is as people write it; empty takes 4 GiB, or half
// of the memory there is if that is less. Invalid: too little to work with, or more than there is,
// which would end in the kernel killing the node long after it was started.
Result<uint64_t> NodeMemory(std::string_view asked, const MemoryFacts& machine);

}  // namespace kvcast
