#include "kvcast/codec/survey.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "kvcast/base/check.h"
#include "kvcast/codec/number_format.h"

namespace kvcast {
namespace {

// A plane that has only been zero has any scale.
constexpr float kNoLargest = 0x1p-10F;
constexpr float kFp4Largest = 6.0F * kE4m3Max;
// 2^(i/8). E4M3 is relative, so that only the place of values between two powers of two matters to
// its error; where the largest values crowd, that is a tenth of it.
constexpr float kEighths[] = {1.0F,        1.09050773F, 1.18920712F, 1.29683955F,
                              1.41421356F, 1.54221083F, 1.68179283F, 1.83400809F};
// The exponents of BF16 whose errors are counted; what is smaller does not matter.
constexpr uint32_t kFirstBinade = 112;

// The square of FP8's error of `value`, in [1, 2), in units of 2^-32.
uint32_t Fp8SquareError(float value, float scale) {
  const float coded = E4m3ToFloat(FloatToE4m3(value * (1.0F / scale))) * scale;
  const double error = double{Bf16ToFloat(FloatToBf16(coded))} - double{value};
  return static_cast<uint32_t>(error * error * 0x1p32);
}

// The least of all `scale` times a power of two that take `largest` to what E4M3 can hold.
float Fp8Scale(float largest, float scale) {
  const uint32_t bits = BitsOf(largest / (kE4m3Max * scale));
  return FloatOf((bits + 0x7fffff) & 0xff800000U) * scale;
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
  static_assert(std::size(kEighths) == kFp8Scales);
  const TrackFormat format = TrackFormat::Of(Rung::kBf16, type, shape, slice);
  largest_.resize(format.RowCount());
  fp8_errors_.resize(format.RowCount());
  exponents_.resize(format.PlaneCount());
  for (size_t mantissa = 0; mantissa < kMantissas; ++mantissa) {
    const float value = 1.0F + static_cast<float>(mantissa) / kMantissas;
    for (size_t i = 0; i < kFp8Scales; ++i) {
      fp8_error_of_[mantissa][i] = Fp8SquareError(value, kEighths[i]);
    }
  }
}

void Survey::AddRow(const std::byte* values, uint32_t size, size_t row, size_t plane) {
  const bool wide = type_ == HalfType::kBf16;
  for (uint32_t i = 0; i < size; ++i) {
    uint16_t bits = 0;
    std::memcpy(&bits, values + i * kPageValueBytes, sizeof(bits));
    const uint32_t exponent = wide ? bits >> 7 & 255U : bits >> 10 & 31U;
    ++exponents_[plane][exponent];
    largest_[row] = std::max<uint16_t>(largest_[row], Bounded(type_, bits) & kMagnitude);
    if (wide && exponent < kFirstBinade) {
      continue;
    }
    const uint32_t binade =
        wide ? std::min<uint32_t>(exponent - kFirstBinade, kBinades - 1) : exponent;
    const auto& errors = fp8_error_of_[wide ? bits & 127U : bits >> 3 & 127U];
    Errors& sums = fp8_errors_[row][binade];
    for (size_t k = 0; k < kFp8Scales; ++k) {
      sums[k] += errors[k];
    }
  }
}

void Survey::Add(const BlockView& block) {
  KVCAST_CHECK(std::ranges::equal(block.shape().layers(), shape_.layers()));
  KVCAST_CHECK(block.value_bytes() == kPageValueBytes);
  size_t row = 0;
  size_t plane_index = 0;
  for (size_t layer = 0; layer < shape_.layers().size(); ++layer) {
    const LayerShape& layer_shape = shape_.layers()[layer];
    for (const Plane plane : {Plane::kKey, Plane::kValue}) {
      if (layer_shape.size(plane) == 0) {
        continue;
      }
      for (uint32_t head = 0; head < layer_shape.kv_heads; ++head, ++row) {
        for (uint32_t token = 0; token < block.shape().tokens(); ++token) {
          AddRow(block.Row(token, layer, plane, head).data(), layer_shape.size(plane), row,
                 plane_index);
        }
      }
      ++plane_index;
    }
  }
}

float Survey::Fp8ScaleOf(size_t row, float largest) const {
  size_t best = 0;
  std::array<double, kFp8Scales> sums{};
  for (size_t i = 0; i < kFp8Scales; ++i) {
    for (size_t binade = 0; binade < kBinades; ++binade) {
      sums[i] += static_cast<double>(fp8_errors_[row][binade][i]) *
                 static_cast<double>(uint64_t{1} << (2 * binade));
    }
    best = sums[i] < sums[best] ? i : best;
  }
  return Fp8Scale(largest, kEighths[best]);
}

RungConstants Survey::Constants(float headroom) const {
  RungConstants constants;
  std::vector<float> largest;
  for (const uint16_t bits : largest_) {
    largest.push_back(bits == 0 ? kNoLargest
                                : std::clamp(ToFloat(type_, bits) * headroom, 0x1p-40F, 0x1p60F));
    constants.fp8.push_back(Fp8ScaleOf(largest.size() - 1, largest.back()));
  }
  auto row = largest.begin();
  for (const LayerShape& layer : shape_.layers()) {
    for (int plane = 0; plane < (layer.value_size == 0 ? 1 : 2); ++plane) {
      const auto end = row + static_cast<std::ptrdiff_t>(layer.kv_heads);
      constants.fp4.push_back(*std::max_element(row, end) / kFp4Largest);
      row = end;
    }
  }
  std::ranges::transform(exponents_, std::back_inserter(constants.tables), TableOf);
  return constants;
}

Result<TrackFormat> Survey::FormatOf(Rung rung) const {
  return Constants().FormatOf(rung, type_, shape_, slice_);
}

}  // namespace kvcast
