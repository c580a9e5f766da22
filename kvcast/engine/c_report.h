#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "kvcast/base/result.h"
#include "kvcast/client/block_place.h"
#include "kvcast/client/load_report.h"
#include "kvcast/client/publication.h"
#include "kvcast/engine/c_call.h"

// What calls of the cache came to, as the C interface tells it.
namespace kvcast {

int32_t StatusOf(BlockOutcome outcome);
int32_t StatusOf(PublishFault fault);

// Writes as much of it as the caller knows of.
Result<void> Tell(const kvcast_report& said, const std::string& reason, kvcast_report* report);

// Arrays that a caller has room for: so many places, each of that size. Invalid: there are none, or
// they are smaller than the first version was.
Result<void> CheckPlaces(const void* places, size_t place_size, size_t first_version_bytes,
                         const size_t* count);
inline Result<void> CheckPlaces(const kvcast_block* places, size_t size, const size_t* count) {
  return CheckPlaces(places, size, offsetof(kvcast_block, why) + sizeof(kvcast_block::why), count);
}
inline Result<void> CheckPlaces(const kvcast_offer* places, size_t size, const size_t* count) {
  return CheckPlaces(places, size,
                     offsetof(kvcast_offer, generation) + sizeof(kvcast_offer::generation), count);
}
// What became of each of a prompt's blocks, of which the engine had the first: as many as there is
// room for. `count` becomes how many there are.
void TellBlocks(const LoadReport& report, size_t skipped, size_t blocks, kvcast_block* places,
                size_t place_size, size_t* count);
void TellOffers(const std::vector<BlockPlace>& offers, kvcast_offer* places, size_t place_size,
                size_t* count);

}  // namespace kvcast
