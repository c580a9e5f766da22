#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

#include "kvcast/base/result.h"
#include "kvcast/io/arena.h"
#include "kvcast/io/memory_probe.h"

namespace kvcast {

// How much of a node's memory for blocks is set aside for payloads, and how much of that is taken
// from the machine at once.
struct PayloadShare {
  size_t bytes = 0;
  size_t prefault_bytes = 0;

  // All but a sixteenth, which names and the index take in any case; at once no more than
  // half of what the machine has to spare: another node may start beside it, or an engine.
  static PayloadShare Of(uint64_t ram_bytes, const MemoryFacts& machine);
};

// Sets it aside, and shows on stderr how far it is if that takes longer than two seconds; after ten
// seconds the rest is left for when it is needed. `go_on` is asked meanwhile: false leaves it too.
Result<Arena> SetAside(const PayloadShare& share, const std::function<bool()>& go_on);

// "3.75 GiB of it set aside, 3.75 GiB in huge pages", for people.
std::string DescribeArena(size_t there_bytes, size_t huge_bytes);

}  // namespace kvcast
