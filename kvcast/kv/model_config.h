#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "kvcast/base/digest.h"
#include "kvcast/base/result.h"
#include "kvcast/kv/layer_group.h"

namespace kvcast {

// What a Hugging Face config.json says about a model's KV cache.
struct ModelConfig {
  std::vector<LayerGroup> groups;
  Digest digest;          // Of all in it that can change KV.
  std::string dtype;      // "bfloat16", as the file says; empty if it does not.
  uint64_t dtype_at = 0;  // Where it says so, for whoever does not know the dtype.

  // The rules are docs/reference/names.md. A model that keeps more than a KV cache (recurrent
  // layers, an indexer) is refused as unsupported: half a state is worse than none.
  static Result<ModelConfig> Parse(std::string_view json);
};

}  // namespace kvcast
