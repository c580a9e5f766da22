// The row kernels of Int4. Included inside a target region, as simd_rows.h is.
#pragma once

#include "kvcast/codec/scale_search.h"
#include "kvcast/codec/simd_packed_rows.h"

namespace kvcast {
namespace {

// Writes the scale and the offset of 32 values, of which the first `count` matter, and gives their
// codes, one a byte.
template <typename V, HalfType kType>
typename V::ByteCodes Int4Codes(const std::byte* values, uint32_t count, size_t group,
                                const SimdCoded& to) {
  uint16_t low_bits = 0;
  uint16_t high_bits = 0;
  V::template LowAndHigh<kType>(values, low_bits, high_bits);
  float low = ToFloat(kType, low_bits);
  low = FloatOf(BitsOf(low) & 0x7fffffffU) < kSpanMin ? 0.0F : low;
  const float span = ToFloat(kType, high_bits) - low;
  uint16_t scale = span < kSpanMin ? uint16_t{0} : FloatToBf16(span * (1.0F / 15.0F));
  float inverse = scale == 0 ? 0.0F : 1.0F / Bf16ToFloat(scale);
  uint16_t offset = FromFloat(kType, low);
  if (to.careful && CanFitInt4(scale)) {
    Int4Sums sums;
    for (uint32_t i = 0; i < count; ++i) {
      sums.Add((ToFloat(kType, Bounded(kType, LoadWord(values, i))) - low) * inverse);
    }
    FitInt4(kType, count, sums, offset, scale);
    low = ToFloat(kType, offset);
    inverse = 1.0F / Bf16ToFloat(scale);
  }
  StoreWord(to.scales, group, scale);
  StoreWord(to.offsets, group, offset);
  return V::ToNibbles(V::Scaled(V::Plus(V::template Load<kType>(values), -low), inverse));
}

// As Int4Sums, of each group of a batch: u, uq, q and qq.
struct Int4BatchSums {
  alignas(64) float own[4][GroupBatch::kMost];

  // Of a line that changes nothing.
  void KeepLine(uint32_t group) {
    own[0][group] = 0.0F;
    own[1][group] = kInt4Steps;
    own[2][group] = 0.0F;
    own[3][group] = 1.0F;
  }
};

template <typename V, HalfType kType>
void SumInt4Batch(const GroupBatch& batch, Int4BatchSums& sums) {
  for (uint32_t i = 0; i < GroupBatch::kMost; ++i) {
    if (i >= batch.count || !CanFitInt4(LoadWord(batch.words[1], i))) {
      sums.KeepLine(i);
      continue;
    }
    const float low = ToFloat(kType, LoadWord(batch.words[0], i));
    const typename V::Floats coded =
        V::Scaled(V::Plus(V::template Load<kType>(batch.values[i]), -low), batch.inverses[i]);
    const typename V::Floats codes = WholeFloats<V>(coded);
    const typename V::Floats steps = WholeFloats<V>(V::Scaled(coded, kInt4Steps));
    float own[4];
    V::StoreFourSums(own, steps, V::Times(steps, codes), codes, V::Times(codes, codes));
    for (size_t k = 0; k < 4; ++k) {
      sums.own[k][i] = own[k];
    }
  }
}

// FitInt4 for a batch: better offsets (words[0]) and scales (words[1]).
template <typename V, HalfType kType>
void FitInt4Groups(GroupBatch& batch, const Int4BatchSums& sums) {
  constexpr auto kCount = static_cast<float>(kGroupValues);
  const typename V::Floats u = V::LoadFloats(sums.own[0]);
  const typename V::Floats q = V::LoadFloats(sums.own[2]);
  const typename V::Floats rise =
      V::Minus(V::Scaled(V::LoadFloats(sums.own[1]), kCount), V::Times(u, q));
  const typename V::Floats run =
      V::Minus(V::Scaled(V::LoadFloats(sums.own[3]), kCount), V::Times(q, q));
  const typename V::Floats slope = V::Over(rise, run);
  const typename V::Floats start = V::Scaled(V::Minus(u, V::Times(slope, q)), 1.0F / kCount);
  const typename V::Floats scales = V::template Load<HalfType::kBf16>(batch.words[1]);
  const typename V::Floats back = V::Times(scales, V::Scaled(start, -1.0F / kInt4Steps));
  V::template Store<kType>(batch.words[0],
                           V::SmallAsZero(V::Minus(V::template Load<kType>(batch.words[0]), back)));
  V::template Store<HalfType::kBf16>(batch.words[1],
                                     V::Times(scales, V::Scaled(slope, 1.0F / kInt4Steps)));
  V::StoreInversesOrZeros(batch.inverses, V::template Load<HalfType::kBf16>(batch.words[1]));
}

// Offsets and scales out of lows (words[0]) and highs (words[1]).
template <typename V, HalfType kType>
void SpanInt4Groups(GroupBatch& batch) {
  const typename V::Floats lows = V::SmallAsZero(V::template Load<kType>(batch.words[0]));
  const typename V::Floats spans =
      V::SmallAsZero(V::Minus(V::template Load<kType>(batch.words[1]), lows));
  V::template Store<kType>(batch.words[0], lows);
  V::template Store<HalfType::kBf16>(batch.words[1], V::Scaled(spans, 1.0F / 15.0F));
  V::StoreInversesOrZeros(batch.inverses, V::template Load<HalfType::kBf16>(batch.words[1]));
}

inline void StoreInt4Constants(const GroupBatch& batch, uint32_t first, const SimdCoded& to) {
  std::memcpy(to.offsets + first * sizeof(uint16_t), batch.words[0],
              batch.count * sizeof(uint16_t));
  std::memcpy(to.scales + first * sizeof(uint16_t), batch.words[1], batch.count * sizeof(uint16_t));
}

// The groups of a batch, the first of which is number `first`.
template <typename V, HalfType kType>
void EncodeInt4Batch(GroupBatch& batch, uint32_t first, const SimdCoded& to) {
  for (uint32_t i = 0; i < batch.count; ++i) {
    uint16_t low = 0;
    uint16_t high = 0;
    V::template LowAndHigh<kType>(batch.values[i], low, high);
    StoreWord(batch.words[0], i, low);
    StoreWord(batch.words[1], i, high);
  }
  SpanInt4Groups<V, kType>(batch);
  if (to.careful) {
    Int4BatchSums sums;
    SumInt4Batch<V, kType>(batch, sums);
    FitInt4Groups<V, kType>(batch, sums);
  }
  StoreInt4Constants(batch, first, to);
  for (uint32_t i = 0; i < batch.count; ++i) {
    const float low = ToFloat(kType, LoadWord(batch.words[0], i));
    V::StorePacked(to.codes + size_t{first + i} * PackedBytes(kGroupValues),
                   V::ToNibbles(V::Scaled(V::Plus(V::template Load<kType>(batch.values[i]), -low),
                                          batch.inverses[i])));
  }
}

template <typename V, HalfType kType>
void SimdEncodeInt4Whole(const SimdSource& from, const SimdCoded& to) {
  const uint32_t groups = from.rows * (from.size / kGroupValues);
  for (uint32_t first = 0; first < groups; first += GroupBatch::kMost) {
    GroupBatch batch(from, first, GroupBatch::kMost);
    EncodeInt4Batch<V, kType>(batch, first, to);
  }
}

template <typename V, HalfType kType>
void SimdEncodeInt4(const SimdSource& from, const SimdCoded& to) {
  if (from.size % kGroupValues == 0) {
    SimdEncodeInt4Whole<V, kType>(from, to);
    return;
  }
  std::byte* codes = to.codes;
  size_t group = 0;
  for (uint32_t row = 0; row < from.rows; ++row) {
    const std::byte* values = from.Row(row);
    uint32_t i = 0;
    for (; i + kGroupValues <= from.size; i += kGroupValues) {
      V::StorePacked(codes,
                     Int4Codes<V, kType>(values + i * kPageValueBytes, kGroupValues, group++, to));
      codes += PackedBytes(kGroupValues);
    }
    if (i < from.size) {
      const Padded rest(values + i * kPageValueBytes, from.size - i);
      uint8_t padded[kGroupValues];
      V::StoreBytes(reinterpret_cast<std::byte*>(padded),
                    Int4Codes<V, kType>(rest.values, from.size - i, group++, to));
      RepackCodes(padded, from.size - i, codes);
      codes += PackedBytes(from.size - i);
    }
  }
}

template <typename V, HalfType kType>
void Int4Values(const std::byte* codes, size_t group, const SimdConstCoded& from,
                std::byte* values) {
  const float scale = Bf16ToFloat(LoadWord(from.scales, group));
  const float low = ToFloat(from.offset_type, LoadWord(from.offsets, group));
  V::template Store<kType>(values, V::Plus(V::Scaled(V::FromNibbles(codes), scale), low));
}

template <typename V, HalfType kType>
void SimdDecodeInt4(const SimdConstCoded& from, const SimdTarget& to) {
  const std::byte* codes = from.codes;
  size_t group = 0;
  for (uint32_t row = 0; row < to.rows; ++row) {
    std::byte* values = to.Row(row);
    uint32_t i = 0;
    for (; i + kGroupValues <= to.size; i += kGroupValues) {
      Int4Values<V, kType>(codes, group++, from, values + i * kPageValueBytes);
      codes += PackedBytes(kGroupValues);
    }
    if (i < to.size) {
      std::byte spread[kScaleBlockValues];
      SpreadCodes(codes, to.size - i, spread);
      Padded rest;
      Int4Values<V, kType>(spread, group++, from, rest.values);
      std::memcpy(values + i * kPageValueBytes, rest.values, (to.size - i) * kPageValueBytes);
      codes += PackedBytes(to.size - i);
    }
  }
}

}  // namespace
}  // namespace kvcast
