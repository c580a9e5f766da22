#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "kvcast/base/digest.h"
#include "kvcast/base/result.h"
#include "kvcast/kv/layer_group.h"
#include "kvcast/kv/model_key.h"

namespace kvcast {

// What a Hugging Face config.json says about a model's KV cache.
struct ModelConfig {
  std::vector<LayerGroup> groups;
  Digest digest;  // Of all in it that can change KV.
  // What it says about what KV is computed in, or why it does not; for whoever was not told.
  Result<KvDtype> kv_dtype = KvDtype::kBf16;

  // The rules are docs/reference/names.md. A model that keeps more than a KV cache (recurrent
  // layers, an indexer) is refused as unsupported: half a state is worse than none.
  static Result<ModelConfig> Parse(std::string_view json);
};

}  // namespace kvcast
