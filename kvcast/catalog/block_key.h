#pragma once

#include <cstdint>
#include <optional>

#include "kvcast/base/digest.h"
#include "kvcast/base/result.h"
#include "kvcast/object/properties.h"

namespace kvcast {

// The first object of a group carries the key that catalogs list the group by: 32 bytes, opaque
// here, inside its immutable properties.
inline constexpr uint64_t kBlockKeyProperty = 0x3801;
Properties BlockKeyProperties(const Digest& key);
// Absent if there is none; malformed if it stands twice or is not 32 bytes.
Result<std::optional<Digest>> BlockKeyIn(const Properties& properties);

}  // namespace kvcast
