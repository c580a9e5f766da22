#include "kvcast/codec/survey.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <numeric>

#include "kvcast/base/check.h"
#include "kvcast/codec/number_format.h"

namespace kvcast {
namespace {

// So many values an object has at least, if its block has them: the entropy coder's states then
// cost less than a fiftieth of a bit per value.
constexpr size_t kRunValues = 128 * 1024;
// A plane that has only been zero has any scale.
constexpr float kNoLargest = 0x1p-10F;
constexpr float kFp4Largest = 6.0F * kE4m3Max;

// The least power of two that takes `largest` to what E4M3 can hold. Precision does not depend on
// it, since E4M3 is relative, and with a power of two encoding rounds once and decoding never.
float Fp8Scale(float largest) {
  const float exact = largest / kE4m3Max;
  const uint32_t bits = BitsOf(exact);
  return FloatOf((bits + 0x7fffff) & 0xff800000U);
}

uint32_t RunTokensOf(const BlockShape& shape) {
  const size_t least = (kRunValues + shape.values_per_token() - 1) / shape.values_per_token();
  return static_cast<uint32_t>(std::min<size_t>(std::bit_ceil(least), shape.tokens()));
}

}  // namespace

ExponentTable TableOf(const std::array<uint64_t, 256>& counts) {
  std::array<uint8_t, 256> order{};
  std::iota(order.begin(), order.end(), uint8_t{0});
  std::ranges::stable_sort(order, [&](uint8_t a, uint8_t b) { return counts[a] > counts[b]; });
  ExponentTable table;
  std::array<uint64_t, ExponentTable::kSymbols> seen{};
  std::copy_n(order.begin(), ExponentTable::kNamed, table.exponents.begin());
  for (size_t i = 0; i < order.size(); ++i) {
    seen[std::min(i, ExponentTable::kNamed)] += counts[order[i]];
  }
  // One each, then one after another to whom it saves most: about count / (share + 1/2) bits.
  table.shares.fill(1);
  for (uint32_t left = ExponentTable::kTotal - ExponentTable::kSymbols; left > 0; --left) {
    size_t best = 0;
    for (size_t i = 1; i < seen.size(); ++i) {
      if (seen[i] * (2U * table.shares[best] + 1) > seen[best] * (2U * table.shares[i] + 1)) {
        best = i;
      }
    }
    ++table.shares[best];
  }
  return table;
}

Survey::Survey(const BlockShape& shape, HalfType type, const Slice& slice)
    : shape_(shape), type_(type), slice_(slice) {
  const TrackFormat format = TrackFormat::Of(Rung::kBf16, type, shape, slice);
  largest_.resize(format.RowCount());
  exponents_.resize(format.PlaneCount());
}

void Survey::AddRow(const std::byte* values, uint32_t size, size_t row, size_t plane) {
  for (uint32_t i = 0; i < size; ++i) {
    uint16_t bits = 0;
    std::memcpy(&bits, values + i * kPageValueBytes, sizeof(bits));
    const uint32_t exponent = type_ == HalfType::kBf16 ? bits >> 7 & 255U : bits >> 10 & 31U;
    ++exponents_[plane][exponent];
    largest_[row] = std::max<uint16_t>(largest_[row], Bounded(type_, bits) & kMagnitude);
  }
}

void Survey::Add(const BlockView& block) {
  KVCAST_CHECK(block.shape() == shape_ && block.value_bytes() == kPageValueBytes);
  size_t row = 0;
  size_t plane_index = 0;
  for (size_t layer = 0; layer < shape_.layers().size(); ++layer) {
    const LayerShape& layer_shape = shape_.layers()[layer];
    for (const Plane plane : {Plane::kKey, Plane::kValue}) {
      if (layer_shape.size(plane) == 0) {
        continue;
      }
      for (uint32_t head = 0; head < layer_shape.kv_heads; ++head, ++row) {
        for (uint32_t token = 0; token < shape_.tokens(); ++token) {
          AddRow(block.Row(token, layer, plane, head).data(), layer_shape.size(plane), row,
                 plane_index);
        }
      }
      ++plane_index;
    }
  }
}

Result<TrackFormat> Survey::FormatOf(Rung rung) const {
  TrackFormat format = TrackFormat::Of(rung, type_, shape_, slice_);
  std::vector<float> largest;
  for (const uint16_t bits : largest_) {
    largest.push_back(bits == 0 ? kNoLargest : std::clamp(ToFloat(type_, bits), 0x1p-40F, 0x1p60F));
  }
  if (rung == Rung::kFp8) {
    std::ranges::transform(largest, std::back_inserter(format.scales), Fp8Scale);
  }
  if (rung == Rung::kFp4) {
    auto row = largest.begin();
    for (const LayerShape& layer : shape_.layers()) {
      for (int plane = 0; plane < (layer.value_size == 0 ? 1 : 2); ++plane) {
        const auto end = row + static_cast<std::ptrdiff_t>(layer.kv_heads);
        format.scales.push_back(*std::max_element(row, end) / kFp4Largest);
        row = end;
      }
    }
  }
  if (rung == Rung::kBf16Lossless || rung == Rung::kFp16Lossless) {
    std::ranges::transform(exponents_, std::back_inserter(format.tables), TableOf);
    format.run_tokens = RunTokensOf(shape_);
  }
  KVCAST_TRY_VOID(format.Check());
  return format;
}

}  // namespace kvcast
