#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace kvcast {

// How a layer shares keys and values between its heads; decides what is cached.
enum class Attention : uint8_t {
  kMha,  // A K and a V per head.
  kGqa,  // A K and a V per group of heads.
  kMla,  // One latent per token, from which K and V of all heads are made.
};

// Which earlier tokens a layer looks at.
enum class WindowKind : uint8_t { kFull, kSliding, kChunked };

std::string_view ToString(Attention attention);
std::string_view ToString(WindowKind kind);

// Layers of a model that cache alike. Most models are one group; some mix full and sliding
// attention, with other RoPE parameters in each.
struct LayerGroup {
  Attention attention = Attention::kMha;
  std::vector<uint32_t> layers;  // Ascending.
  uint32_t kv_heads = 0;
  uint32_t key_size = 0;    // Values per KV head and token in K; for MLA the whole latent.
  uint32_t value_size = 0;  // The same in V; 0 for MLA.
  uint32_t rotary_size = 0;
  WindowKind window_kind = WindowKind::kFull;
  uint32_t window = 0;  // Tokens; 0 for kFull.
  std::string rope;     // Canonical value of the RoPE parameters.

  friend bool operator==(const LayerGroup&, const LayerGroup&) = default;
};

}  // namespace kvcast
