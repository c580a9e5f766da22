#include "kvcast/codec/plain_codec.h"

#include <cstring>
#include <string>

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
    : Codec(format, pages), token_bytes_(shape().values_per_token() * kPageValueBytes) {}

size_t PlainCodec::BodyBytesMax(uint32_t tokens) const { return tokens * token_bytes_; }

size_t PlainCodec::EncodeBody(const BlockView& block, uint32_t first_token, uint32_t tokens,
                              std::span<std::byte> body) const {
  std::byte* out = body.data();
  for (uint32_t token = first_token; token < first_token + tokens; ++token) {
    ForEachRun(block, [&](size_t layer, Plane plane, uint32_t head, size_t bytes) {
      std::memcpy(out, block.Row(token, layer, plane, head).data(), bytes);
      out += bytes;
    });
  }
  return tokens * token_bytes_;
}

Result<void> PlainCodec::DecodeBody(std::span<const std::byte> body, uint32_t first_token,
                                    uint32_t tokens, BlockView& block) const {
  if (body.size() != tokens * token_bytes_) {
    return Error(ErrorCode::kMismatch, "Tokens of this shape have " + std::to_string(token_bytes_) +
                                           " bytes each; " + std::to_string(tokens) +
                                           " of them have " + std::to_string(body.size()) +
                                           " here.");
  }
  const std::byte* in = body.data();
  for (uint32_t token = first_token; token < first_token + tokens; ++token) {
    ForEachRun(block, [&](size_t layer, Plane plane, uint32_t head, size_t bytes) {
      std::memcpy(block.MutableRow(token, layer, plane, head).data(), in, bytes);
      in += bytes;
    });
  }
  return {};
}

}  // namespace kvcast
