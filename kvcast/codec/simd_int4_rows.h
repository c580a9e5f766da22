// The row kernels of Int4. Included inside a target region, as simd_rows.h is.
#pragma once

#include <immintrin.h>

#include "kvcast/codec/scale_search.h"
#include "kvcast/codec/simd_packed_rows.h"

namespace kvcast {
namespace {

// Int4CodeOf for 32 bytes.
inline __m256i Int4OfSteps(__m256i steps) {
  const __m256i half = _mm256_set1_epi8(1 << (kInt4StepBits - 1));
  return _mm256_and_si256(_mm256_srli_epi16(_mm256_add_epi8(steps, half), kInt4StepBits),
                          _mm256_set1_epi8(15));
}

// As Int4Sums: w, wq, q and qq of 32 values.
inline __m128 SumInt4Steps(__m256i steps, __m256i codes) {
  const __m256i none = _mm256_setzero_si256();
  const __m256i one = _mm256_set1_epi16(1);
  const __m256i singles = _mm256_or_si256(_mm256_sad_epu8(steps, none),
                                          _mm256_slli_epi64(_mm256_sad_epu8(codes, none), 32));
  const __m256i wq = _mm256_madd_epi16(_mm256_maddubs_epi16(steps, codes), one);
  const __m256i qq = _mm256_madd_epi16(_mm256_maddubs_epi16(codes, codes), one);
  const __m256i products =
      _mm256_add_epi32(_mm256_unpacklo_epi32(wq, qq), _mm256_unpackhi_epi32(wq, qq));
  const __m256i all = _mm256_add_epi32(_mm256_unpacklo_epi64(singles, products),
                                       _mm256_unpackhi_epi64(singles, products));
  const __m128i sums = _mm_add_epi32(_mm256_castsi256_si128(all), _mm256_extracti128_si256(all, 1));
  return _mm_cvtepi32_ps(_mm_shuffle_epi32(sums, _MM_SHUFFLE(3, 1, 2, 0)));
}

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
  const float inverse = scale == 0 ? 0.0F : 1.0F / Bf16ToFloat(scale);
  uint16_t offset = FromFloat(kType, low);
  const typename V::Floats above = V::Plus(V::template Load<kType>(values), -low);
  typename V::ByteCodes codes;
  if (to.careful) {
    const typename V::ByteCodes steps = V::ToSteps(V::Scaled(above, inverse * kInt4Steps));
    codes = Int4OfSteps(steps);
    alignas(32) std::byte own[2][kGroupValues];
    V::StoreBytes(own[0], steps);
    V::StoreBytes(own[1], codes);
    Int4Sums sums;
    for (uint32_t i = 0; i < count; ++i) {
      sums.Add(static_cast<uint32_t>(own[0][i]), static_cast<uint32_t>(own[1][i]));
    }
    if (CanFitInt4(scale)) {
      FitInt4(kType, count, sums, offset, scale);
    }
  } else {
    codes = V::ToNibbles(V::Scaled(above, inverse));
  }
  StoreWord(to.scales, group, scale);
  StoreWord(to.offsets, group, offset);
  return codes;
}

// As Int4Sums, of each group of a batch: w, wq, q and qq.
struct Int4BatchSums {
  alignas(64) float own[4][GroupBatch::kMost];

  // A line that changes nothing, for groups where no fit is tried, or that there are not.
  void KeepLines(const GroupBatch& batch) {
    for (uint32_t i = 0; i < GroupBatch::kMost; ++i) {
      if (i >= batch.count || !CanFitInt4(LoadWord(batch.words[1], i))) {
        own[0][i] = 0.0F;
        own[1][i] = kInt4Steps;
        own[2][i] = 0.0F;
        own[3][i] = 1.0F;
      }
    }
  }
};

// FitInt4 for a batch: better offsets and scales, not yet rounded.
template <typename V>
void FitInt4Lines(typename V::Floats& lows, typename V::Floats& scales, const Int4BatchSums& sums) {
  constexpr auto kCount = static_cast<float>(kGroupValues);
  const typename V::Floats w = V::LoadFloats(sums.own[0]);
  const typename V::Floats q = V::LoadFloats(sums.own[2]);
  const typename V::Floats rise =
      V::Minus(V::Scaled(V::LoadFloats(sums.own[1]), kCount), V::Times(w, q));
  const typename V::Floats run =
      V::Minus(V::Scaled(V::LoadFloats(sums.own[3]), kCount), V::Times(q, q));
  const typename V::Floats slope = V::Over(rise, run);
  const typename V::Floats start = V::Scaled(V::Minus(w, V::Times(slope, q)), 1.0F / kCount);
  const typename V::Floats back = V::Times(scales, V::Scaled(start, -1.0F / kInt4Steps));
  lows = V::SmallAsZero(V::Minus(lows, back));
  scales = V::Times(scales, V::Scaled(slope, 1.0F / kInt4Steps));
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
  Int4BatchSums sums;
  for (uint32_t i = 0; i < batch.count; ++i) {
    std::byte* const codes = to.codes + size_t{first + i} * PackedBytes(kGroupValues);
    batch.AskBehind(i);
    const float low = ToFloat(kType, LoadWord(batch.words[0], i));
    const typename V::Floats above = V::Plus(V::template Load<kType>(batch.values[i]), -low);
    if (!to.careful) {
      V::StorePacked(codes, V::ToNibbles(V::Scaled(above, batch.inverses[i])));
      continue;
    }
    const __m256i steps = V::ToSteps(V::Scaled(above, batch.inverses[i] * kInt4Steps));
    const __m256i whole = Int4OfSteps(steps);
    V::StorePacked(codes, whole);
    alignas(16) float own[4];
    _mm_store_ps(own, SumInt4Steps(steps, whole));
    for (size_t k = 0; k < 4; ++k) {
      sums.own[k][i] = own[k];
    }
  }
  if (to.careful) {
    sums.KeepLines(batch);
    typename V::Floats lows = V::template Load<kType>(batch.words[0]);
    typename V::Floats scales = V::template Load<HalfType::kBf16>(batch.words[1]);
    FitInt4Lines<V>(lows, scales, sums);
    V::template Store<kType>(batch.words[0], lows);
    V::template Store<HalfType::kBf16>(batch.words[1], scales);
  }
  StoreInt4Constants(batch, first, to);
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
