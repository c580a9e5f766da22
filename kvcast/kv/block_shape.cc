#include "kvcast/kv/block_shape.h"

#include <algorithm>
#include <string>

#include "kvcast/base/check.h"

namespace kvcast {
namespace {

std::vector<LayerShape> LayersOf(std::span<const LayerGroup> groups) {
  size_t count = 0;
  for (const LayerGroup& group : groups) {
    count += group.layers.size();
  }
  std::vector<LayerShape> layers(count);
  for (const LayerGroup& group : groups) {
    for (const uint32_t layer : group.layers) {
      KVCAST_CHECK(layer < count && layers[layer].kv_heads == 0);
      layers[layer] = {group.kv_heads, group.key_size, group.value_size};
    }
  }
  return layers;
}

}  // namespace

BlockShape::BlockShape(std::span<const LayerGroup> groups, uint32_t tokens)
    : BlockShape(LayersOf(groups), tokens) {}

BlockShape::BlockShape(std::vector<LayerShape> layers, uint32_t tokens)
    : layers_(std::move(layers)), tokens_(tokens) {
  KVCAST_CHECK(tokens > 0);
  KVCAST_CHECK(std::ranges::all_of(
      layers_, [](const LayerShape& layer) { return layer.kv_heads > 0 && layer.key_size > 0; }));
}

size_t BlockShape::values_per_token() const {
  size_t values = 0;
  for (const LayerShape& layer : layers_) {
    values += layer.values();
  }
  return values;
}

Result<BlockShape> BlockShape::Sliced(const Slice& slice) const {
  std::span<const LayerShape> chosen = layers_;
  if (slice.layers) {
    if (slice.layers->first > slice.layers->last || slice.layers->last >= layers_.size()) {
      return Error(ErrorCode::kInvalid,
                   "The slice is of layers " + std::to_string(slice.layers->first) + " to " +
                       std::to_string(slice.layers->last) + "; the model has " +
                       std::to_string(layers_.size()) + ".");
    }
    chosen = chosen.subspan(slice.layers->first, slice.layers->count());
  }
  std::vector<LayerShape> layers(chosen.begin(), chosen.end());
  for (LayerShape& layer : layers) {
    if (!slice.heads) {
      break;
    }
    if (slice.heads->first > slice.heads->last || slice.heads->last >= layer.kv_heads ||
        layer.value_size == 0) {
      return Error(ErrorCode::kInvalid,
                   "The slice is of KV heads " + std::to_string(slice.heads->first) + " to " +
                       std::to_string(slice.heads->last) + "; a layer has " +
                       std::to_string(layer.kv_heads) +
                       (layer.value_size == 0 ? " latent for all heads." : "."));
    }
    layer.kv_heads = slice.heads->count();
  }
  return BlockShape(std::move(layers), tokens_);
}

}  // namespace kvcast
