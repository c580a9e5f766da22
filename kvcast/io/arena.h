#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

#include "kvcast/base/chunk.h"
#include "kvcast/base/result.h"

namespace kvcast {

// Memory from the kernel that is there before it is needed: writing to it for the first time costs
// what copying to it costs, and not three to eight times as much.
struct Arena {
  ChunkMemory memory;     // Goes back to the kernel with its last owner, or page by page.
  size_t huge_bytes = 0;  // Of what is there: in huge pages, as the kernel says.
};

struct ArenaOptions {
  size_t bytes = 0;                  // Address space, rounded up to whole huge pages.
  size_t prefault_bytes = SIZE_MAX;  // So much of it is there at once, from the front.
  // Told while that goes on, often; false ends it, and what is not there yet comes when it is used.
  std::function<bool(size_t done, size_t total)> on_progress{};
};

// Asks for huge pages, which the kernel makes as far as it has them. Those that an administrator
// has set aside are left alone: they could not be given back for anything else. All that is
// prefaulted is touched, which takes a second for some gigabytes. Machine: there is no such address
// space. REQUIRES: bytes > 0.
Result<Arena> MapArena(const ArenaOptions& options);

}  // namespace kvcast
