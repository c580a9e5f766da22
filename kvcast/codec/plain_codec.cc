#include "kvcast/codec/plain_codec.h"

#include <cstring>

#include "kvcast/base/byte_reader.h"
#include "kvcast/base/check.h"
#include "kvcast/codec/token_object.h"

namespace kvcast {
namespace {

constexpr uint32_t kValueBytes = 2;

// Calls visit(layer, plane, first head, heads) for each run of heads that lie side by side in the
// engine's memory: all of a layer's, or one at a time.
template <typename Visit>
void ForEachRun(const BlockView& block, Visit visit) {
  const std::span<const LayerShape> layers = block.shape().layers();
  for (size_t layer = 0; layer < layers.size(); ++layer) {
    for (const Plane plane : {Plane::kKey, Plane::kValue}) {
      const size_t row = size_t{layers[layer].size(plane)} * kValueBytes;
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

PlainCodec::PlainCodec(Rung rung, const BlockShape& shape)
    : rung_(rung),
      shape_(shape),
      object_bytes_(TokenObject::kHeaderBytes + shape.values_per_token() * kValueBytes) {
  KVCAST_CHECK(rung == Rung::kFp16 || rung == Rung::kBf16);
}

Bytes PlainCodec::EncodeToken(const BlockView& block, uint32_t token) const {
  KVCAST_CHECK(block.shape() == shape_ && block.value_bytes() == kValueBytes);
  KVCAST_CHECK(token < shape_.tokens());
  std::vector<std::byte> object(object_bytes_);
  std::byte* out = object.data() + TokenObject::kHeaderBytes;
  ForEachRun(block, [&](size_t layer, Plane plane, uint32_t head, size_t bytes) {
    std::memcpy(out, block.Row(token, layer, plane, head).data(), bytes);
    out += bytes;
  });
  TokenObject::Seal(rung_, object);
  return Bytes::Copy(object);
}

std::vector<Bytes> PlainCodec::Encode(const BlockView& block) const {
  std::vector<Bytes> payloads;
  payloads.reserve(shape_.tokens());
  for (uint32_t token = 0; token < shape_.tokens(); ++token) {
    payloads.push_back(EncodeToken(block, token));
  }
  return payloads;
}

Result<void> PlainCodec::DecodeToken(const Bytes& payload, uint32_t token, BlockView& block) const {
  KVCAST_CHECK(block.shape() == shape_ && block.value_bytes() == kValueBytes);
  KVCAST_CHECK(token < shape_.tokens());
  KVCAST_TRY(const Bytes values,
             TokenObject::Open(rung_, object_bytes_ - TokenObject::kHeaderBytes, payload));
  ByteReader reader(values);
  ForEachRun(block, [&](size_t layer, Plane plane, uint32_t head, size_t bytes) {
    std::byte* const row = block.MutableRow(token, layer, plane, head).data();
    KVCAST_CHECK(reader.Read({row, bytes}).ok());  // The length was checked.
  });
  return {};
}

}  // namespace kvcast
