// The row kernels of FP4, and those of all rungs for both types of values. Included inside a target
// region, as simd_rows.h is.
#pragma once

#include <algorithm>

#include "kvcast/codec/scale_search.h"
#include "kvcast/codec/simd_int4_rows.h"

namespace kvcast {
namespace {

// Groups of a batch, of two blocks each.
inline constexpr uint32_t kFp4Groups = GroupBatch::kMost / 2;

// The scales of 32 blocks whose largest values become the same value of E2M1.
template <typename V>
struct Fp4Scales {
  alignas(64) std::byte codes[GroupBatch::kMost];
  float inverses[GroupBatch::kMost];
  float squares[GroupBatch::kMost];

  Fp4Scales(const typename V::Floats& largest, float becomes, float tensor) {
    V::StoreBytes(codes, V::ToE4m3(V::Scaled(largest, 1.0F / (becomes * tensor))));
    const typename V::Floats scales = V::Scaled(V::FromE4m3AsHalf(codes), 0x1p8F);
    V::StoreInversesOrZeros(inverses, V::Scaled(scales, tensor));
    V::StoreFloats(squares, V::Times(scales, scales));
  }
  typename V::Floats Scaled(const typename V::Floats& values, uint32_t group) const {
    return V::ScaledHalves(values, inverses[size_t{group} * 2], inverses[size_t{group} * 2 + 1]);
  }
};

// 32 values with such scales: their codes, and the squares of how much each errs.
template <typename V>
struct Fp4Attempt {
  alignas(16) std::byte packed[PackedBytes(kGroupValues)];
  typename V::Floats squares;

  Fp4Attempt(const typename V::Floats& scaled) {
    V::StorePacked(packed, V::ToE2m1(scaled));
    const typename V::Floats off =
        WholeFloats<V>(V::Scaled(V::Minus(scaled, V::FromE2m1(packed)), kFp4ErrorSteps));
    squares = V::Times(off, off);
  }
};

// The scales and codes of a batch of up to 16 groups, of two blocks each.
template <typename V, HalfType kType>
void EncodeFp4Batch(GroupBatch& batch, float tensor, bool careful, std::byte* scales,
                    std::byte* codes) {
  for (uint32_t i = 0; i < batch.count; ++i) {
    uint16_t largest[2] = {};
    V::LargestOfHalves(batch.values[i], largest[0], largest[1]);
    std::memcpy(batch.words[0] + i * sizeof(largest), largest, sizeof(largest));
  }
  const typename V::Floats largest = V::template Load<kType>(batch.words[0]);
  const Fp4Scales<V> six(largest, 6.0F, tensor);
  std::memcpy(scales, six.codes, size_t{batch.count} * 2);
  if (!careful) {
    for (uint32_t i = 0; i < batch.count; ++i, codes += PackedBytes(kGroupValues)) {
      V::StorePacked(codes, V::ToE2m1(six.Scaled(V::template Load<kType>(batch.values[i]), i)));
    }
    return;
  }
  const Fp4Scales<V> four(largest, 4.0F, tensor);
  for (uint32_t i = 0; i < batch.count; ++i, codes += PackedBytes(kGroupValues)) {
    const typename V::Floats values = V::template Load<kType>(batch.values[i]);
    const Fp4Attempt<V> by_six(six.Scaled(values, i));
    const Fp4Attempt<V> by_four(four.Scaled(values, i));
    float errors[4];  // Of both blocks by six, then by four.
    V::StoreSumsOfHalves(errors, by_six.squares, by_four.squares);
    uint64_t chosen = 0;  // The halves of bytes that are coded by four: the second block is above.
    for (uint32_t block = 0; block < 2; ++block) {
      const uint32_t at = 2 * i + block;
      const int is_four =
          FourIsBetter(static_cast<uint8_t>(six.codes[at]), errors[block] * six.squares[at],
                       static_cast<uint8_t>(four.codes[at]), errors[2 + block] * four.squares[at]);
      const std::byte both[2] = {six.codes[at], four.codes[at]};
      scales[at] = both[is_four];
      chosen |= static_cast<uint64_t>(is_four) * (uint64_t{0x0f} << (4 * block));
    }
    chosen *= 0x0101010101010101;
    for (uint32_t k = 0; k < PackedBytes(kGroupValues); k += sizeof(chosen)) {
      uint64_t a = 0;
      uint64_t b = 0;
      std::memcpy(&a, by_six.packed + k, sizeof(a));
      std::memcpy(&b, by_four.packed + k, sizeof(b));
      a ^= (a ^ b) & chosen;
      std::memcpy(codes + k, &a, sizeof(a));
    }
  }
}

template <typename V, HalfType kType>
void SimdEncodeFp4(const SimdSource& from, const SimdCoded& to) {
  const float tensor = to.statics[0];
  std::byte* codes = to.codes;
  std::byte* scales = to.scales;
  if (from.size % kGroupValues == 0) {
    const uint32_t groups = from.rows * (from.size / kGroupValues);
    for (uint32_t first = 0; first < groups; first += kFp4Groups) {
      GroupBatch batch(from, first, kFp4Groups);
      EncodeFp4Batch<V, kType>(batch, tensor, to.careful, scales + size_t{first} * 2,
                               codes + size_t{first} * PackedBytes(kGroupValues));
    }
    return;
  }
  for (uint32_t row = 0; row < from.rows; ++row) {
    const std::byte* values = from.Row(row);
    uint32_t i = 0;
    for (; i + kGroupValues <= from.size; i += kGroupValues) {
      GroupBatch batch(values + i * kPageValueBytes);
      EncodeFp4Batch<V, kType>(batch, tensor, to.careful, scales, codes);
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
    EncodeFp4Batch<V, kType>(batch, tensor, to.careful, both, packed);
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
