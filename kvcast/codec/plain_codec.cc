#include "kvcast/codec/plain_codec.h"

#include <cstring>

namespace kvcast {
namespace {

// Calls visit(layer, plane, first head, bytes) for each run of heads that lie side by side in the
// engine's memory: all of a layer's, or one at a time.
template <typename Visit>
void ForEachRun(const BlockView& block, Visit visit) {
  const std::span<const LayerShape> layers = block.shape().layers();
  for (size_t layer = 0; layer < layers.size(); ++layer) {
    for (const Plane plane : {Plane::kKey, Plane::kValue}) {
      const size_t row = size_t{layers[layer].size(plane)} * kPageValueBytes;
      if (row == 0) {
        continue;
      }
      const bool adjacent = block.HeadStride(layer, plane) == row;
      const uint32_t run = adjacent ? layers[layer].kv_heads : 1;
      for (uint32_t head = 0; head < layers[layer].kv_heads; head += run) {
        visit(layer, plane, head, run * row);
      }
    }
  }
}

}  // namespace

PlainCodec::PlainCodec(const TrackFormat& format, HalfType pages)
    : TokenCodec(format, pages), token_bytes_(shape().values_per_token() * kPageValueBytes) {}

void PlainCodec::EncodeTokens(const BlockView& block, uint32_t first_token,
                              std::span<std::byte* const> tokens) const {
  size_t at = 0;
  ForEachRun(block, [&](size_t layer, Plane plane, uint32_t head, size_t bytes) {
    uint32_t token = first_token;
    for (std::byte* const out : tokens) {
      std::memcpy(out + at, block.Row(token++, layer, plane, head).data(), bytes);
    }
    at += bytes;
  });
}

void PlainCodec::DecodeTokens(std::span<const std::byte* const> tokens, uint32_t first_token,
                              BlockView& block) const {
  size_t at = 0;
  ForEachRun(block, [&](size_t layer, Plane plane, uint32_t head, size_t bytes) {
    uint32_t token = first_token;
    for (const std::byte* const in : tokens) {
      std::memcpy(block.MutableRow(token++, layer, plane, head).data(), in + at, bytes);
    }
    at += bytes;
  });
}

}  // namespace kvcast
