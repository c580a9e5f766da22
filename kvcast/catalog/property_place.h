#pragma once

#include <cstddef>
#include <cstdint>

#include "kvcast/object/properties.h"

namespace kvcast {

// Where in properties.encoded() an immutable property of a type begins, the first of them being
// number 0; for errors. Reads them again, so that those who find no fault pay nothing. Where there
// are not so many, the answer is where these end.
uint64_t ImmutablePlace(const Properties& properties, uint64_t type, size_t number);

}  // namespace kvcast
