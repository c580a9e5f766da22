#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "kvcast/base/result.h"
#include "kvcast/kv/prefix_chain.h"
#include "kvcast/object/properties.h"

namespace kvcast {

// How a track's objects are coded, opaque here: what is the same for all of them is said once,
// where no relay may touch it.
inline constexpr uint64_t kFormatProperty = 0x3803;
// A track's properties and a format beside them. REQUIRES: none yet, and room for it.
Properties WithFormat(const Properties& track, std::string_view format);
// Absent if there is none; malformed if it stands twice.
Result<std::optional<std::string>> FormatIn(const Properties& track);

// What an object says of itself: the first of a group its block's hash, the others how many ids
// before their own do not exist, where each holds a run of tokens.
Properties ObjectProperties(const BlockHash& block, uint32_t first_token, uint32_t run_tokens);
// The same of a block that has no name.
Properties RunProperties(uint32_t first_token, uint32_t run_tokens);

}  // namespace kvcast
