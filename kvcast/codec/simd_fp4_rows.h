// The row kernels of FP4, and those of all rungs for both types of values. Included inside a target
// region, as simd_rows.h is.
#pragma once

#include <algorithm>
#include <utility>

#include "kvcast/codec/simd_fp4_codes.h"
#include "kvcast/codec/simd_int4_rows.h"

namespace kvcast {
namespace {

// Groups of a batch, of two blocks each.
inline constexpr uint32_t kFp4Groups = GroupBatch::kMost / 2;

// The scales of 32 blocks whose largest values become 6, and what makes parts of values.
template <typename V>
struct Fp4Scales {
  alignas(64) std::byte codes[GroupBatch::kMost];
  alignas(64) float inverses[GroupBatch::kMost];

  Fp4Scales(const typename V::Floats& largest, float tensor) {
    V::StoreBytes(codes, V::ToE4m3(V::Scaled(largest, 1.0F / (6.0F * tensor))));
    const typename V::Floats scales = V::Scaled(V::FromE4m3AsHalf(codes), 0x1p8F);
    V::StoreInversesOrZeros(inverses, V::Scaled(scales, tensor));
    V::StoreFloats(inverses, V::Scaled(V::LoadFloats(inverses), kFp4Parts));
  }
  typename V::Floats Scaled(const typename V::Floats& values, uint32_t group) const {
    return V::ScaledHalves(values, inverses[size_t{group} * 2], inverses[size_t{group} * 2 + 1]);
  }
};

// In registers: loading at once what was stored one by one waits for all that was stored before it.
template <typename Number, size_t... kNumbers>
inline __m256i EightOf(const Number& number, size_t first, std::index_sequence<kNumbers...>) {
  return _mm256_setr_epi32(number(first + kNumbers)...);
}

// The scales and codes of a batch of up to 16 groups, of two blocks each.
template <typename V, HalfType kType>
void EncodeFp4Batch(GroupBatch& batch, float tensor, bool careful, const Fp4Tables& tables,
                    std::byte* scales, std::byte* codes) {
  const auto largest = [&](size_t i) {
    uint16_t two[2] = {};
    V::LargestOfHalves(batch.values[std::min<size_t>(i, batch.count - 1)], two[0], two[1]);
    return static_cast<int32_t>(two[0] | uint32_t{two[1]} << 16);
  };
  alignas(64) std::byte words[2][sizeof(__m256i)];
  for (size_t k = 0; k < 2; ++k) {
    _mm256_store_si256(reinterpret_cast<__m256i*>(words[k]),
                       EightOf(largest, 8 * k, std::make_index_sequence<8>()));
  }
  const Fp4Scales<V> six(V::template Load<kType>(words[0]), tensor);
  std::memcpy(scales, six.codes, size_t{batch.count} * 2);
  for (uint32_t i = 0; i < batch.count; ++i, codes += PackedBytes(kGroupValues)) {
    batch.AskBehind(i);
    const __m256i parts = V::ToParts(six.Scaled(V::template Load<kType>(batch.values[i]), i));
    V::StorePacked(codes, Fp4Codes(tables, parts, careful, scales + size_t{i} * 2));
  }
}

template <typename V, HalfType kType>
void SimdEncodeFp4(const SimdSource& from, const SimdCoded& to) {
  const float tensor = to.statics[0];
  const Fp4Tables tables;
  std::byte* codes = to.codes;
  std::byte* scales = to.scales;
  if (from.size % kGroupValues == 0) {
    const uint32_t groups = from.rows * (from.size / kGroupValues);
    for (uint32_t first = 0; first < groups; first += kFp4Groups) {
      GroupBatch batch(from, first, kFp4Groups);
      EncodeFp4Batch<V, kType>(batch, tensor, to.careful, tables, scales + size_t{first} * 2,
                               codes + size_t{first} * PackedBytes(kGroupValues));
    }
    return;
  }
  for (uint32_t row = 0; row < from.rows; ++row) {
    const std::byte* values = from.Row(row);
    uint32_t i = 0;
    for (; i + kGroupValues <= from.size; i += kGroupValues) {
      GroupBatch batch(values + i * kPageValueBytes);
      EncodeFp4Batch<V, kType>(batch, tensor, to.careful, tables, scales, codes);
      codes += PackedBytes(kGroupValues);
      scales += 2;
    }
    // A copy of the first value must not count in a block that it does not belong to.
    const uint32_t count = from.size - i;
    Padded rest(values + i * kPageValueBytes, count);
    std::memset(rest.values + count * kPageValueBytes, 0, kGroupBytes - count * kPageValueBytes);
    GroupBatch batch(rest.values);
    std::byte both[2] = {};
    std::byte packed[PackedBytes(kGroupValues)];
    EncodeFp4Batch<V, kType>(batch, tensor, to.careful, tables, both, packed);
    uint8_t spread[kGroupValues];
    for (uint32_t k = 0; k < kScaleBlockValues; ++k) {
      spread[k] = static_cast<uint8_t>(packed[k] & std::byte{15});
      spread[k + kScaleBlockValues] = static_cast<uint8_t>(packed[k] >> 4);
    }
    RepackCodes(spread, count, codes);
    codes += PackedBytes(count);
    std::memcpy(scales, both, ScaleBlocksOf(count));
    scales += ScaleBlocksOf(count);
  }
}

// What up to 32 blocks are multiplied by.
template <typename V>
struct Fp4Factors {
  alignas(64) float own[GroupBatch::kMost];

  Fp4Factors(const std::byte* scales, uint32_t groups, float tensor) {
    std::byte codes[GroupBatch::kMost] = {};
    std::memcpy(codes, scales, size_t{groups} * 2);
    V::StoreFloats(own, V::Scaled(V::Scaled(V::FromE4m3AsHalf(codes), 0x1p8F), tensor));
  }
};

template <typename V, HalfType kType>
void SimdDecodeFp4(const SimdConstCoded& from, const SimdTarget& to) {
  const std::byte* codes = from.codes;
  const std::byte* scales = from.scales;
  const float tensor = from.statics[0];
  for (uint32_t row = 0; row < to.rows; ++row) {
    std::byte* values = to.Row(row);
    uint32_t i = 0;
    for (; i + kGroupValues <= to.size; i += kGroupValues) {
      const float first = E4m3ToFloat(static_cast<uint8_t>(scales[0])) * tensor;
      const float second = E4m3ToFloat(static_cast<uint8_t>(scales[1])) * tensor;
      V::template Store<kType>(values + i * kPageValueBytes,
                               V::ScaledHalves(V::FromE2m1(codes), first, second));
      codes += PackedBytes(kGroupValues);
      scales += 2;
    }
    if (i < to.size) {
      const uint32_t count = to.size - i;
      const float first = E4m3ToFloat(static_cast<uint8_t>(scales[0])) * tensor;
      const float second =
          count > kScaleBlockValues ? E4m3ToFloat(static_cast<uint8_t>(scales[1])) * tensor : 0.0F;
      std::byte spread[kScaleBlockValues];
      SpreadCodes(codes, count, spread);
      Padded rest;
      V::template Store<kType>(rest.values, V::ScaledHalves(V::FromE2m1(spread), first, second));
      std::memcpy(values + i * kPageValueBytes, rest.values, count * kPageValueBytes);
      codes += PackedBytes(count);
      scales += ScaleBlocksOf(count);
    }
  }
}

// Both types of values, chosen once for a plane.
#define KVCAST_BOTH_TYPES(name, Kernel, From, To, typed)                  \
  template <typename V>                                                   \
  void name(const From& from, const To& to) {                             \
    typed.type == HalfType::kBf16 ? Kernel<V, HalfType::kBf16>(from, to)  \
                                  : Kernel<V, HalfType::kFp16>(from, to); \
  }
KVCAST_BOTH_TYPES(AnyEncodeInt8, SimdEncodeInt8, SimdSource, SimdCoded, from)
KVCAST_BOTH_TYPES(AnyDecodeInt8, SimdDecodeInt8, SimdConstCoded, SimdTarget, to)
KVCAST_BOTH_TYPES(AnyEncodeFp8, SimdEncodeFp8, SimdSource, SimdCoded, from)
KVCAST_BOTH_TYPES(AnyDecodeFp8, SimdDecodeFp8, SimdConstCoded, SimdTarget, to)
KVCAST_BOTH_TYPES(AnyEncodeInt4, SimdEncodeInt4, SimdSource, SimdCoded, from)
KVCAST_BOTH_TYPES(AnyDecodeInt4, SimdDecodeInt4, SimdConstCoded, SimdTarget, to)
KVCAST_BOTH_TYPES(AnyEncodeFp4, SimdEncodeFp4, SimdSource, SimdCoded, from)
KVCAST_BOTH_TYPES(AnyDecodeFp4, SimdDecodeFp4, SimdConstCoded, SimdTarget, to)
#undef KVCAST_BOTH_TYPES

// Rows of whole groups of BF16 as `Group` stores one: Group::Store(factors of both blocks, codes,
// to). All others as every set does.
template <typename V, typename Group>
void DecodeFp4ByGroups(const SimdConstCoded& from, const SimdTarget& to) {
  if (to.type != HalfType::kBf16 || to.size % kGroupValues != 0) {
    AnyDecodeFp4<V>(from, to);
    return;
  }
  const uint32_t groups = to.rows * (to.size / kGroupValues);
  const std::byte* packed = from.codes;
  GroupPlaces<std::byte> places(to);
  for (uint32_t first = 0; first < groups; first += kFp4Groups) {
    const uint32_t count = std::min(kFp4Groups, groups - first);
    const Fp4Factors<V> factors(from.scales + size_t{first} * 2, count, from.statics[0]);
    for (uint32_t i = 0; i < count; ++i, packed += PackedBytes(kGroupValues)) {
      Group::Store(factors.own + size_t{i} * 2, packed, places.Take());
    }
  }
}
// The same of Int4: Group::Store(scale, low, codes, to).
template <typename V, typename Group>
void DecodeInt4ByGroups(const SimdConstCoded& from, const SimdTarget& to) {
  if (to.type != HalfType::kBf16 || to.size % kGroupValues != 0) {
    AnyDecodeInt4<V>(from, to);
    return;
  }
  const uint32_t groups = to.rows * (to.size / kGroupValues);
  const std::byte* packed = from.codes;
  GroupPlaces<std::byte> places(to);
  for (uint32_t group = 0; group < groups; ++group, packed += PackedBytes(kGroupValues)) {
    const float low = ToFloat(from.offset_type, LoadWord(from.offsets, group));
    Group::Store(Bf16ToFloat(LoadWord(from.scales, group)), low, packed, places.Take());
  }
}

}  // namespace
}  // namespace kvcast
