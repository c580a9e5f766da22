#include "kvcast/codec/exponent_survey.h"

#include <cstring>

#include "kvcast/base/check.h"
#include "kvcast/codec/rung_constants.h"
#include "kvcast/codec/survey.h"

namespace kvcast {
namespace {

// Neighbours often have the same exponent, and a count would wait for the one before it.
constexpr size_t kCountsApart = 4;
using CountsApart = std::array<std::array<uint64_t, 256>, kCountsApart>;

// The exponent of the value that stands in the lowest bits.
template <HalfType kType>
size_t LowestExponent(uint64_t values) {
  return kType == HalfType::kBf16 ? values >> 7 & 255U : values >> 10 & 31U;
}

template <HalfType kType>
void CountRow(std::span<const std::byte> row, CountsApart& counts) {
  constexpr size_t kTogether = sizeof(uint64_t);
  static_assert(kTogether == kCountsApart * kPageValueBytes);
  size_t at = 0;
  for (; at + kTogether <= row.size(); at += kTogether) {
    uint64_t values = 0;
    std::memcpy(&values, row.data() + at, kTogether);
    for (size_t i = 0; i < kCountsApart; ++i) {
      ++counts[i][LowestExponent<kType>(values >> (16 * i))];
    }
  }
  for (; at < row.size(); at += kPageValueBytes) {
    uint16_t value = 0;
    std::memcpy(&value, row.data() + at, sizeof(value));
    ++counts[0][LowestExponent<kType>(value)];
  }
}

}  // namespace

LayerExponents CountExponents(const BlockView& block, HalfType type, size_t layer,
                              uint32_t first_token, uint32_t tokens) {
  KVCAST_CHECK(block.value_bytes() == kPageValueBytes);
  const auto count_row =
      type == HalfType::kBf16 ? CountRow<HalfType::kBf16> : CountRow<HalfType::kFp16>;
  LayerExponents counts{};
  for (const Plane plane : {Plane::kKey, Plane::kValue}) {
    if (block.shape().layers()[layer].size(plane) == 0) {
      continue;
    }
    CountsApart apart{};
    for (uint32_t token = first_token; token < first_token + tokens; ++token) {
      for (uint32_t head = 0; head < block.shape().layers()[layer].kv_heads; ++head) {
        count_row(block.Row(token, layer, plane, head), apart);
      }
    }
    for (const auto& some : apart) {
      for (size_t i = 0; i < some.size(); ++i) {
        counts[plane == Plane::kKey ? 0 : 1][i] += some[i];
      }
    }
  }
  return counts;
}

ExponentSurvey::ExponentSurvey(const BlockShape& shape, HalfType type, const Slice& slice)
    : shape_(shape), type_(type), slice_(slice), layers_(shape.layers().size()) {}

void ExponentSurvey::Add(size_t layer, const LayerExponents& counts) {
  for (size_t plane = 0; plane < counts.size(); ++plane) {
    for (size_t i = 0; i < counts[plane].size(); ++i) {
      layers_[layer][plane][i] += counts[plane][i];
    }
  }
}

Result<TrackFormat> ExponentSurvey::FormatOf(Rung rung) const {
  KVCAST_CHECK(rung == Rung::kBf16Lossless || rung == Rung::kFp16Lossless);
  RungConstants constants;
  for (size_t layer = 0; layer < layers_.size(); ++layer) {
    for (size_t plane = 0; plane < (shape_.layers()[layer].value_size == 0 ? 1 : 2); ++plane) {
      constants.tables.push_back(TableOf(layers_[layer][plane]));
    }
  }
  return constants.FormatOf(rung, type_, shape_, slice_);
}

}  // namespace kvcast
