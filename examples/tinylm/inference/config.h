#pragma once

#include <cstdint>
#include <string_view>

#include "examples/tinylm/base/result.h"

namespace kvcast::tinylm {

// The sizes of a model, from its config.json: Llama as Hugging Face writes it, with tied
// embeddings, SwiGLU and plain RoPE. A model that asks for more is unsupported, never half
// computed.
struct Config {
  uint32_t vocabulary = 0;
  uint32_t hidden = 0;
  uint32_t feed_forward = 0;
  uint32_t layers = 0;
  uint32_t heads = 0;
  uint32_t kv_heads = 0;
  uint32_t head_size = 0;
  uint32_t context = 0;  // The most tokens it can look at.
  float norm_epsilon = 0;
  float rope_theta = 0;

  // Sizes are multiples of 64, so that kernels have no rest to care about; `heads` is a multiple
  // of `kv_heads`.
  static Result<Config> Parse(std::string_view json);

  size_t query_size() const { return size_t{heads} * head_size; }
  size_t kv_size() const { return size_t{kv_heads} * head_size; }
  // Query heads that read the same KV head.
  size_t group() const { return heads / kv_heads; }
};

}  // namespace kvcast::tinylm
