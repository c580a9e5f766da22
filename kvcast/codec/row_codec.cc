#include "kvcast/codec/row_codec.h"

#include <cstring>

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

// Whether all numbers are 0 or between two others, their signs aside where `is_signed`. Without a
// branch, so that compilers make vectors of it.
bool AllWithin(std::span<const std::byte> numbers, uint16_t least, uint16_t most, bool is_signed) {
  const uint16_t kept = is_signed ? kMagnitude : 0xffff;
  const auto span = static_cast<uint16_t>(most - least);
  uint16_t outside = 0;
  for (size_t i = 0; i + 1 < numbers.size(); i += sizeof(uint16_t)) {
    uint16_t bits = 0;
    std::memcpy(&bits, numbers.data() + i, sizeof(bits));
    const auto magnitude = static_cast<uint16_t>(bits & kept);
    const auto above = static_cast<uint16_t>(magnitude - least);
    outside |= static_cast<uint16_t>(static_cast<uint16_t>(magnitude != 0) &
                                     static_cast<uint16_t>(above > span));
  }
  return outside == 0;
}

bool AllE4m3Scales(std::span<const std::byte> codes) {
  uint8_t outside = 0;
  for (const std::byte code : codes) {
    outside |= static_cast<uint8_t>(static_cast<uint8_t>(code) > kE4m3LastCode);
  }
  return outside == 0;
}

}  // namespace

RowCodec::RowCodec(const TrackFormat& format, HalfType pages, const Kernels& kernels)
    : TokenCodec(format, pages), kernel_(RowKernelOf(format.rung, kernels)) {
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
  if (format.rung == Rung::kFp8) {
    for (const float scale : format.scales) {
      tables_.push_back(Fp8Table::Of(scale, pages));
    }
  }
}

template <typename Byte>
CodedRows<Byte> RowCodec::PartsOf(const Segment& segment, Byte* token) const {
  CodedRows<Byte> parts;
  parts.scales = token + segment.scales;
  parts.offsets = token + scale_bytes_ + segment.offsets;
  parts.codes = token + scale_bytes_ + offset_bytes_ + segment.codes;
  parts.statics = format().scales.empty() ? nullptr : format().scales.data() + segment.statics;
  parts.tables = tables_.empty() ? nullptr : tables_.data() + segment.statics;
  parts.offset_type = format().value_type;
  // Of what an error costs a model, nineteen parts in twenty are K's: V gets the faster encoder.
  parts.careful = segment.plane == Plane::kKey;
  return parts;
}

void RowCodec::EncodeTokens(const BlockView& block, uint32_t first_token,
                            std::span<std::byte* const> tokens) const {
  for (const Segment& segment : segments_) {
    uint32_t token = first_token;
    for (std::byte* const out : tokens) {
      const PageRows<const std::byte> rows = {
          block.Row(token++, segment.layer, segment.plane, 0).data(),
          block.HeadStride(segment.layer, segment.plane), segment.rows, segment.size, pages()};
      kernel_.encode(rows, PartsOf(segment, out));
    }
  }
}

void RowCodec::DecodeTokens(std::span<const std::byte* const> tokens, uint32_t first_token,
                            BlockView& block) const {
  for (const Segment& segment : segments_) {
    uint32_t token = first_token;
    for (const std::byte* const in : tokens) {
      const PageRows<std::byte> rows = {
          block.MutableRow(token++, segment.layer, segment.plane, 0).data(),
          block.HeadStride(segment.layer, segment.plane), segment.rows, segment.size, pages()};
      kernel_.decode(PartsOf(segment, in), rows);
    }
  }
}

bool RowCodec::IsSound(std::span<const std::byte> token) const {
  const std::span<const std::byte> scales = token.first(scale_bytes_);
  const std::span<const std::byte> offsets = token.subspan(scale_bytes_, offset_bytes_);
  const bool scales_fit = format().rung == Rung::kFp4
                              ? AllE4m3Scales(scales)
                              : AllWithin(scales, kBf16ScaleMin, kBf16ScaleMax, false);
  return scales_fit && (format().value_type == HalfType::kBf16
                            ? AllWithin(offsets, kBf16ScaleMin, kBf16ScaleMax, /*is_signed=*/true)
                            : AllWithin(offsets, 0, kHalfLargest, /*is_signed=*/true));
}

}  // namespace kvcast
