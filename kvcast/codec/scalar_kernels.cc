// One value at a time: what the other kernels are held against.
#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>

#include "kvcast/codec/number_format.h"
#include "kvcast/codec/paired_matrix.h"
#include "kvcast/codec/scale_search.h"
#include "kvcast/codec/simd_kernels.h"

namespace kvcast {
namespace {

using Source = PageRows<const std::byte>;
using Target = PageRows<std::byte>;
using Coded = CodedRows<std::byte>;
using ConstCoded = CodedRows<const std::byte>;

uint16_t LoadU16(const std::byte* from, size_t index) {
  uint16_t value = 0;
  std::memcpy(&value, from + index * sizeof(value), sizeof(value));
  return value;
}
void StoreU16(std::byte* to, size_t index, uint16_t value) {
  std::memcpy(to + index * sizeof(value), &value, sizeof(value));
}
float LoadValue(HalfType type, const std::byte* row, size_t index) {
  return ToFloat(type, Bounded(type, LoadU16(row, index)));
}
void StoreValue(HalfType type, std::byte* row, size_t index, float value) {
  StoreU16(row, index, FromFloat(type, value));
}

float LargestOf(HalfType type, const std::byte* row, uint32_t first, uint32_t end) {
  uint16_t largest = 0;
  for (uint32_t i = first; i < end; ++i) {
    largest = std::max<uint16_t>(largest, Bounded(type, LoadU16(row, i)) & kMagnitude);
  }
  return ToFloat(type, largest);
}

void PackCodes(const std::array<uint8_t, kGroupValues>& codes, uint32_t count, std::byte* to) {
  const uint32_t half = PackedBytes(count);
  for (uint32_t i = 0; i < half; ++i) {
    const uint32_t upper = i + half < count ? codes[i + half] : 0;
    to[i] = static_cast<std::byte>(codes[i] | upper << 4);
  }
}

uint8_t PackedCode(const std::byte* from, uint32_t count, uint32_t index) {
  const uint32_t half = PackedBytes(count);
  return static_cast<uint8_t>(index < half ? from[index] & std::byte{15} : from[index - half] >> 4);
}

void EncodeInt8(const Source& from, const Coded& to) {
  std::byte* codes = to.codes;
  for (uint32_t row = 0; row < from.rows; ++row) {
    const std::byte* values = from.Row(row);
    const float largest = LargestOf(from.type, values, 0, from.size);
    const uint16_t scale = largest < kSpanMin ? uint16_t{0} : FloatToBf16(largest / 127.0F);
    const float inverse = scale == 0 ? 0.0F : 1.0F / Bf16ToFloat(scale);
    StoreU16(to.scales, row, scale);
    for (uint32_t i = 0; i < from.size; ++i) {
      const int32_t code = RoundToInt(LoadValue(from.type, values, i) * inverse);
      *codes++ = static_cast<std::byte>(std::clamp(code, -127, 127));
    }
  }
}

void DecodeInt8(const ConstCoded& from, const Target& to) {
  const std::byte* codes = from.codes;
  for (uint32_t row = 0; row < to.rows; ++row) {
    const float scale = Bf16ToFloat(LoadU16(from.scales, row));
    for (uint32_t i = 0; i < to.size; ++i) {
      const auto code = static_cast<float>(static_cast<int8_t>(*codes++));
      StoreValue(to.type, to.Row(row), i, code * scale);
    }
  }
}

void EncodeFp8(const Source& from, const Coded& to) {
  std::byte* codes = to.codes;
  for (uint32_t row = 0; row < from.rows; ++row) {
    const float inverse = 1.0F / to.statics[row];
    for (uint32_t i = 0; i < from.size; ++i) {
      const float value = LoadValue(from.type, from.Row(row), i);
      *codes++ = static_cast<std::byte>(FloatToE4m3(value * inverse));
    }
  }
}

void DecodeFp8(const ConstCoded& from, const Target& to) {
  const std::byte* codes = from.codes;
  for (uint32_t row = 0; row < to.rows; ++row) {
    for (uint32_t i = 0; i < to.size; ++i) {
      const float value = E4m3ToFloat(static_cast<uint8_t>(*codes++));
      StoreValue(to.type, to.Row(row), i, value * from.statics[row]);
    }
  }
}

void EncodeInt4Group(const Source& from, const std::byte* values, uint32_t first, uint32_t count,
                     size_t group, const Coded& to, std::byte* codes) {
  float low = LoadValue(from.type, values, first);
  float high = low;
  for (uint32_t i = first; i < first + count; ++i) {
    low = std::min(low, LoadValue(from.type, values, i));
    high = std::max(high, LoadValue(from.type, values, i));
  }
  low = FloatOf(BitsOf(low) & 0x7fffffffU) < kSpanMin ? 0.0F : low;
  const float span = high - low;
  uint16_t scale = span < kSpanMin ? uint16_t{0} : FloatToBf16(span * (1.0F / 15.0F));
  const float inverse = scale == 0 ? 0.0F : 1.0F / Bf16ToFloat(scale);
  uint16_t offset = FromFloat(from.type, low);
  const auto rounded = [&](uint32_t i, float by, int32_t most) {
    const float above = LoadValue(from.type, values, first + i) - low;
    return static_cast<uint32_t>(std::clamp(RoundToInt(above * by), 0, most));
  };
  std::array<uint8_t, kGroupValues> packed{};
  Int4Sums sums;
  for (uint32_t i = 0; i < count; ++i) {
    if (to.careful) {
      const uint32_t steps = rounded(i, inverse * kInt4Steps, 255);
      packed[i] = Int4CodeOf(steps);
      sums.Add(steps, packed[i]);
    } else {
      packed[i] = static_cast<uint8_t>(rounded(i, inverse, 15));
    }
  }
  if (to.careful && CanFitInt4(scale)) {
    FitInt4(from.type, count, sums, offset, scale);
  }
  StoreU16(to.scales, group, scale);
  StoreU16(to.offsets, group, offset);
  PackCodes(packed, count, codes);
}

void EncodeInt4(const Source& from, const Coded& to) {
  std::byte* codes = to.codes;
  size_t group = 0;
  for (uint32_t row = 0; row < from.rows; ++row) {
    for (uint32_t first = 0; first < from.size; first += kGroupValues) {
      const uint32_t count = std::min(kGroupValues, from.size - first);
      EncodeInt4Group(from, from.Row(row), first, count, group++, to, codes);
      codes += PackedBytes(count);
    }
  }
}

void DecodeInt4(const ConstCoded& from, const Target& to) {
  const std::byte* codes = from.codes;
  size_t group = 0;
  for (uint32_t row = 0; row < to.rows; ++row) {
    for (uint32_t first = 0; first < to.size; first += kGroupValues) {
      const uint32_t count = std::min(kGroupValues, to.size - first);
      const float scale = Bf16ToFloat(LoadU16(from.scales, group));
      const float low = ToFloat(from.offset_type, LoadU16(from.offsets, group));
      for (uint32_t i = 0; i < count; ++i) {
        const auto code = static_cast<float>(PackedCode(codes, count, i));
        const float offset = code * scale;  // Exact: 4 bits times 8.
        StoreValue(to.type, to.Row(row), first + i, offset + low);
      }
      codes += PackedBytes(count);
      ++group;
    }
  }
}

// A block's scale and codes.
uint8_t EncodeFp4Block(const Source& from, const std::byte* values, uint32_t first, uint32_t end,
                       float tensor, bool careful, uint8_t* codes) {
  const uint8_t six =
      FloatToE4m3(LargestOf(from.type, values, first, end) * (1.0F / (6.0F * tensor)));
  const float inverse = six == 0 ? 0.0F : 1.0F / (E4m3ToFloat(six) * tensor);
  constexpr auto kMost = static_cast<float>(kFp4PartsMax);
  std::array<int32_t, kScaleBlockValues> parts{};
  int32_t better = 0;
  for (uint32_t i = first; i < end; ++i) {
    const float part = LoadValue(from.type, values, i) * (inverse * kFp4Parts);
    parts[i - first] = static_cast<int32_t>(std::clamp(part, -kMost, kMost));
    better += kFp4Choices[static_cast<size_t>(std::abs(parts[i - first]))].better;
  }
  const bool is_four = careful && HasFour(six) && better > 0;
  for (uint32_t i = 0; i < end - first; ++i) {
    const Fp4Choice& choice = kFp4Choices[static_cast<size_t>(std::abs(parts[i]))];
    const uint32_t sign = parts[i] < 0 ? 8 : 0;
    codes[i] = static_cast<uint8_t>((is_four ? choice.four : choice.six) | sign);
  }
  return is_four ? FourOfSix(six) : six;
}

void EncodeFp4(const Source& from, const Coded& to) {
  std::byte* codes = to.codes;
  std::byte* scales = to.scales;
  for (uint32_t row = 0; row < from.rows; ++row) {
    const std::byte* values = from.Row(row);
    for (uint32_t first = 0; first < from.size; first += kGroupValues) {
      const uint32_t count = std::min(kGroupValues, from.size - first);
      std::array<uint8_t, kGroupValues> packed{};
      for (uint32_t block = 0; block < count; block += kScaleBlockValues) {
        const uint32_t end = std::min(block + kScaleBlockValues, count);
        *scales++ = static_cast<std::byte>(EncodeFp4Block(from, values, first + block, first + end,
                                                          to.statics[0], to.careful,
                                                          packed.data() + block));
      }
      PackCodes(packed, count, codes);
      codes += PackedBytes(count);
    }
  }
}

void DecodeFp4(const ConstCoded& from, const Target& to) {
  const std::byte* codes = from.codes;
  const std::byte* scales = from.scales;
  for (uint32_t row = 0; row < to.rows; ++row) {
    for (uint32_t first = 0; first < to.size; first += kGroupValues) {
      const uint32_t count = std::min(kGroupValues, to.size - first);
      for (uint32_t i = 0; i < count; ++i) {
        const auto scale = static_cast<uint8_t>(scales[i / kScaleBlockValues]);
        const uint8_t code = PackedCode(codes, count, i);
        const float magnitude = kE2m1[code & 7] * (E4m3ToFloat(scale) * from.statics[0]);
        StoreValue(to.type, to.Row(row), first + i, (code & 8) != 0 ? -magnitude : magnitude);
      }
      codes += PackedBytes(count);
      scales += ScaleBlocksOf(count);
    }
  }
}

void JoinBf16(const uint8_t* exponents, const std::byte* low, uint32_t count, std::byte* to) {
  for (uint32_t i = 0; i < count; ++i) {
    const auto rest = static_cast<uint32_t>(low[i]);
    StoreU16(
        to, i,
        static_cast<uint16_t>((rest & 128U) << 8 | uint32_t{exponents[i]} << 7 | (rest & 127U)));
  }
}

void Multiply(const MatrixProduct& product) {
  constexpr uint32_t kLanes = MatrixProduct::kLanes;
  for (uint32_t row = 0; row < product.rows; ++row) {
    const int16_t* const in = product.in + row * product.in_stride;
    for (uint32_t first = 0; first < product.outs; first += kLanes) {
      std::array<uint32_t, kLanes> sums{};
      const int16_t* matrix = product.matrix + size_t{first} * product.pairs * 2;
      for (uint32_t pair = 0; pair < product.pairs; ++pair, matrix += 2 * kLanes) {
        for (uint32_t j = 0; j < kLanes; ++j) {
          sums[j] += static_cast<uint32_t>(in[2 * pair] * matrix[2 * j]) +
                     static_cast<uint32_t>(in[2 * pair + 1] * matrix[2 * j + 1]);
        }
      }
      std::ranges::copy(sums, product.out + size_t{row} * product.outs + first);
    }
  }
}

constexpr CoderKernels kScalarCoder = {
    ScalarReadValues, ScalarWriteSymbols, ScalarNameValues, JoinBf16, ScalarSplitBf16,
};

}  // namespace

constexpr Kernels kScalarKernels = {
    "scalar",
    {EncodeInt8, DecodeInt8},
    {EncodeFp8, DecodeFp8},
    {EncodeInt4, DecodeInt4},
    {EncodeFp4, DecodeFp4},
    &kScalarCoder,
    &kScalarBands,
    &kScalarBytes,
    Multiply,
};

}  // namespace kvcast
