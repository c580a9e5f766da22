#pragma once

#include <cstdint>

namespace kvcast {

// A token is an id, as the model's tokenizer numbers it.
using Token = uint32_t;

// How many tokens make a block, unless a model is configured otherwise.
inline constexpr uint32_t kBlockTokensDefault = 128;

}  // namespace kvcast
