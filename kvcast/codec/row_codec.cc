#include "kvcast/codec/row_codec.h"

#include <cstring>
#include <string>

#include "kvcast/base/check.h"
#include "kvcast/codec/number_format.h"

namespace kvcast {
namespace {

RowKernel RowKernelOf(Rung rung, const Kernels& kernels) {
  switch (rung) {
    case Rung::kInt8:
      return kernels.int8;
    case Rung::kFp8:
      return kernels.fp8;
    case Rung::kInt4:
      return kernels.int4;
    default:
      KVCAST_CHECK(rung == Rung::kFp4);
      return kernels.fp4;
  }
}

// What one row of a rung takes.
struct RowBytes {
  size_t scales = 0;
  size_t offsets = 0;
  size_t codes = 0;
};

RowBytes RowBytesOf(Rung rung, uint32_t size) {
  switch (rung) {
    case Rung::kInt8:
      return {sizeof(uint16_t), 0, size};
    case Rung::kFp8:
      return {0, 0, size};
    case Rung::kInt4:
      return {GroupsOf(size) * sizeof(uint16_t), GroupsOf(size) * sizeof(uint16_t),
              PackedRowBytes(size)};
    default:
      return {ScaleBlocksOf(size), 0, PackedRowBytes(size)};
  }
}

// Whether all numbers are 0 or between two others, their signs aside where `is_signed`.
bool AllWithin(std::span<const std::byte> numbers, uint16_t least, uint16_t most, bool is_signed) {
  uint32_t outside = 0;
  for (size_t i = 0; i + 1 < numbers.size(); i += sizeof(uint16_t)) {
    uint16_t bits = 0;
    std::memcpy(&bits, numbers.data() + i, sizeof(bits));
    const uint32_t magnitude = is_signed ? bits & kMagnitude : bits;
    outside |= static_cast<uint32_t>(magnitude != 0) &
               (static_cast<uint32_t>(magnitude < least) | static_cast<uint32_t>(magnitude > most));
  }
  return outside == 0;
}

bool AllE4m3Scales(std::span<const std::byte> codes) {
  uint32_t outside = 0;
  for (const std::byte code : codes) {
    outside |= static_cast<uint32_t>(static_cast<uint8_t>(code) > kE4m3LastCode);
  }
  return outside == 0;
}

// A token's rows lie far apart in memory, each too short for the processor to see where it goes on:
// so it is told, two planes ahead.
constexpr size_t kPlanesAhead = 2;
constexpr size_t kLineBytes = 64;

void Prefetch(const std::byte* from, size_t bytes) {
  for (size_t at = 0; at < bytes; at += kLineBytes) {
    __builtin_prefetch(from + at);
  }
  asm volatile("");  // Or g++ takes it for something that has no effect, and leaves out the calls.
}

}  // namespace

RowCodec::RowCodec(const TrackFormat& format, HalfType pages, const Kernels& kernels)
    : Codec(format, pages), kernel_(RowKernelOf(format.rung, kernels)) {
  size_t statics = 0;
  for (uint32_t layer = 0; layer < format.layers.size(); ++layer) {
    for (const Plane plane : {Plane::kKey, Plane::kValue}) {
      const LayerShape& layer_shape = format.layers[layer];
      const uint32_t size = layer_shape.size(plane);
      if (size == 0) {
        continue;
      }
      segments_.push_back({layer, plane, layer_shape.kv_heads, size, scale_bytes_, offset_bytes_,
                           code_bytes_, statics});
      const RowBytes row = RowBytesOf(format.rung, size);
      scale_bytes_ += row.scales * layer_shape.kv_heads;
      offset_bytes_ += row.offsets * layer_shape.kv_heads;
      code_bytes_ += row.codes * layer_shape.kv_heads;
      statics += format.rung == Rung::kFp8 ? layer_shape.kv_heads : 1;
    }
  }
}

size_t RowCodec::BodyBytesMax(uint32_t tokens) const {
  return tokens * (scale_bytes_ + offset_bytes_ + code_bytes_);
}

// Only where a token's heads lie side by side; elsewhere rows are too short to pay.
void RowCodec::PrefetchPlane(const BlockView& block, uint32_t token, size_t index) const {
  if (index >= segments_.size()) {
    return;
  }
  const Segment& segment = segments_[index];
  const size_t row = size_t{segment.size} * kPageValueBytes;
  if (block.HeadStride(segment.layer, segment.plane) == row) {
    Prefetch(block.Row(token, segment.layer, segment.plane, 0).data(), row * segment.rows);
  }
}

template <typename Byte>
CodedRows<Byte> RowCodec::PartsOf(const Segment& segment, Byte* token) const {
  CodedRows<Byte> parts;
  parts.scales = token + segment.scales;
  parts.offsets = token + scale_bytes_ + segment.offsets;
  parts.codes = token + scale_bytes_ + offset_bytes_ + segment.codes;
  parts.statics = format().scales.empty() ? nullptr : format().scales.data() + segment.statics;
  parts.offset_type = format().value_type;
  // Of what an error costs a model, nineteen parts in twenty are K's: V gets the faster encoder.
  parts.careful = segment.plane == Plane::kKey;
  return parts;
}

size_t RowCodec::EncodeBody(const BlockView& block, uint32_t first_token, uint32_t tokens,
                            std::span<std::byte> body) const {
  std::byte* out = body.data();
  for (uint32_t token = first_token; token < first_token + tokens; ++token) {
    for (size_t i = 0; i < segments_.size(); ++i) {
      const Segment& segment = segments_[i];
      PrefetchPlane(block, token, i + kPlanesAhead);
      const PageRows<const std::byte> rows = {
          block.Row(token, segment.layer, segment.plane, 0).data(),
          block.HeadStride(segment.layer, segment.plane), segment.rows, segment.size, pages()};
      kernel_.encode(rows, PartsOf(segment, out));
    }
    out += BodyBytesMax(1);
  }
  return BodyBytesMax(tokens);
}

Result<void> RowCodec::CheckParts(std::span<const std::byte> token) const {
  const std::span<const std::byte> scales = token.first(scale_bytes_);
  const std::span<const std::byte> offsets = token.subspan(scale_bytes_, offset_bytes_);
  const bool scales_fit = format().rung == Rung::kFp4
                              ? AllE4m3Scales(scales)
                              : AllWithin(scales, kBf16ScaleMin, kBf16ScaleMax, false);
  const bool offsets_fit =
      format().value_type == HalfType::kBf16
          ? AllWithin(offsets, kBf16ScaleMin, kBf16ScaleMax, /*is_signed=*/true)
          : AllWithin(offsets, 0, kHalfLargest, /*is_signed=*/true);
  if (!scales_fit || !offsets_fit) {
    return Error(ErrorCode::kMalformed, "A scale of the object is not one that is ever written.");
  }
  return {};
}

Result<void> RowCodec::DecodeBody(std::span<const std::byte> body, uint32_t first_token,
                                  uint32_t tokens, BlockView& block) const {
  if (body.size() != BodyBytesMax(tokens)) {
    return Error(ErrorCode::kMismatch, "Tokens of this shape and rung have " +
                                           std::to_string(BodyBytesMax(1)) + " bytes each; " +
                                           std::to_string(tokens) + " of them have " +
                                           std::to_string(body.size()) + " here.");
  }
  const size_t token_bytes = BodyBytesMax(1);
  for (uint32_t i = 0; i < tokens; ++i) {
    KVCAST_TRY_VOID(CheckParts(body.subspan(i * token_bytes, token_bytes)));
  }
  for (uint32_t i = 0; i < tokens; ++i) {
    for (const Segment& segment : segments_) {
      const PageRows<std::byte> rows = {
          block.MutableRow(first_token + i, segment.layer, segment.plane, 0).data(),
          block.HeadStride(segment.layer, segment.plane), segment.rows, segment.size, pages()};
      kernel_.decode(PartsOf(segment, body.data() + i * token_bytes), rows);
    }
  }
  return {};
}

}  // namespace kvcast
