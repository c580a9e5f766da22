#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "kvcast/base/result.h"
#include "kvcast/kv/layer_group.h"
#include "kvcast/kv/slice.h"

namespace kvcast {

// Which of a layer's two tensors. MLA's latent is its K; it has no V.
enum class Plane : uint8_t { kKey, kValue };

// What one layer caches for a token.
struct LayerShape {
  uint32_t kv_heads = 0;
  uint32_t key_size = 0;
  uint32_t value_size = 0;

  uint32_t size(Plane plane) const { return plane == Plane::kKey ? key_size : value_size; }
  size_t values() const { return size_t{kv_heads} * (size_t{key_size} + value_size); }
  friend bool operator==(const LayerShape&, const LayerShape&) = default;
};

// What a block holds: how many tokens, and what each layer caches for one. The canonical order of
// values, on the wire and in files, is token, layer, K before V, head, value.
class BlockShape {
 public:
  // REQUIRES: groups that name every layer once, as ModelConfig makes them; tokens > 0.
  BlockShape(std::span<const LayerGroup> groups, uint32_t tokens);
  BlockShape(std::vector<LayerShape> layers, uint32_t tokens);

  uint32_t tokens() const { return tokens_; }
  std::span<const LayerShape> layers() const { return layers_; }
  size_t values_per_token() const;

  // The shape of a part. Invalid: layers or heads that are not there, or heads of MLA, whose
  // latent belongs to all of them.
  Result<BlockShape> Sliced(const Slice& slice) const;

  friend bool operator==(const BlockShape&, const BlockShape&) = default;

 private:
  std::vector<LayerShape> layers_;
  uint32_t tokens_;
};

}  // namespace kvcast
