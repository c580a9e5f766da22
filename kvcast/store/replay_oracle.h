#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace kvcast {

// How many blocks of a trace would have hit, had the future been known: what a policy could gain at
// most, or nearly. Requests as for Replay. The block goes that is needed last, of those needed at
// the same time the deepest, and what is never needed again does not come in.
size_t OracleHits(std::span<const std::vector<uint64_t>> requests, size_t blocks_max);

}  // namespace kvcast
