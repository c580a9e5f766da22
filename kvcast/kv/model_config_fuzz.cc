// Any bytes as a config.json: a description whose every number is within bounds, or an error.
// Inputs of up to 16384 bytes: lists of a thousand layers.
#include <algorithm>

#include "kvcast/base/check.h"
#include "kvcast/kv/block_shape.h"
#include "kvcast/kv/model_config.h"
#include "kvcast/kv/model_key.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto config = kvcast::ModelConfig::Parse({reinterpret_cast<const char*>(data), size});
  if (!config.ok()) {
    KVCAST_CHECK(config.error().offset().value_or(size + 1) <= size);
    return 0;
  }
  KVCAST_CHECK(!config->groups.empty());
  kvcast::ModelDescription model;
  model.groups = config->groups;
  kvcast::ModelDescription longer = model;
  longer.block_tokens += 1;
  KVCAST_CHECK(model.Fingerprint() != longer.Fingerprint());
  const kvcast::BlockShape shape(config->groups, 16);  // Checks that every layer is named once.
  KVCAST_CHECK(shape.layers().size() <= 4096);
  for (const kvcast::LayerShape& layer : shape.layers()) {
    KVCAST_CHECK(layer.kv_heads <= 65536 && layer.key_size <= 65536 && layer.value_size <= 65536);
  }
  return 0;
}
