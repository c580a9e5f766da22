// Int4's rows of BF16 encoded in ways that only AVX-512 has, as in avx512_encoders.h.
#pragma once

#include "kvcast/codec/simd_target.h"

#ifdef KVCAST_X86_KERNELS

#include <immintrin.h>

#include "kvcast/codec/avx512_words.h"

KVCAST_AVX512_BEGIN

namespace kvcast {
namespace {

// The lows and highs of 32 groups of finite values; false if one is not.
inline bool LowsAndHighs(const GroupBatch& batch, std::byte* lows, std::byte* highs) {
  __m512i least[4];
  __m512i most[4];
  for (uint32_t eight = 0; eight < 4; ++eight) {
    __m512i low_pairs[4];
    __m512i high_pairs[4];
    for (uint32_t pair = 0; pair < 4; ++pair) {
      const std::byte* const* const at = batch.values + size_t{eight} * 8 + size_t{pair} * 2;
      const __m512i a = Avx512::Ordered(Avx512::LoadWords(at[0]));
      const __m512i b = Avx512::Ordered(Avx512::LoadWords(at[1]));
      const __m512i x = _mm512_unpacklo_epi16(a, b);
      const __m512i y = _mm512_unpackhi_epi16(a, b);
      low_pairs[pair] = Least::Of(x, y);
      high_pairs[pair] = Most::Of(x, y);
    }
    least[eight] = OfEight<Least>(low_pairs);
    most[eight] = OfEight<Most>(high_pairs);
  }
  const __m512i low = Avx512::Ordered(OfLanes<Least>(least));  // The same way back.
  const __m512i high = Avx512::Ordered(OfLanes<Most>(most));
  _mm512_storeu_si512(lows, low);
  _mm512_storeu_si512(highs, high);
  return !AnyBeyond(_mm512_max_epu16(MagnitudesOf(low), MagnitudesOf(high)));
}

// 16 times four sums, side by side, as four times 16 floats.
inline void SumsApart(const __m128i* from, float (&to)[4][GroupBatch::kMost], size_t first) {
  const __m512i a = _mm512_load_si512(from);
  const __m512i b = _mm512_load_si512(from + 4);
  const __m512i c = _mm512_load_si512(from + 8);
  const __m512i d = _mm512_load_si512(from + 12);
  const __m512i order = _mm512_setr_epi32(0, 4, 8, 12, 16, 20, 24, 28, 1, 5, 9, 13, 17, 21, 25, 29);
  const __m512i later = _mm512_add_epi32(order, _mm512_set1_epi32(2));
  const __m512i ab = _mm512_permutex2var_epi32(a, order, b);
  const __m512i cd = _mm512_permutex2var_epi32(c, order, d);
  const __m512i ab_later = _mm512_permutex2var_epi32(a, later, b);
  const __m512i cd_later = _mm512_permutex2var_epi32(c, later, d);
  const __m512i sums[4] = {_mm512_shuffle_i64x2(ab, cd, 0x44), _mm512_shuffle_i64x2(ab, cd, 0xee),
                           _mm512_shuffle_i64x2(ab_later, cd_later, 0x44),
                           _mm512_shuffle_i64x2(ab_later, cd_later, 0xee)};
  for (size_t k = 0; k < 4; ++k) {
    _mm512_storeu_ps(to[k] + first, _mm512_cvtepi32_ps(sums[k]));
  }
}

inline __m128i FourWholeSums(__m512i a, __m512i b, __m512i c, __m512i d) {
  const __m512i ab = _mm512_add_epi32(_mm512_unpacklo_epi32(a, b), _mm512_unpackhi_epi32(a, b));
  const __m512i cd = _mm512_add_epi32(_mm512_unpacklo_epi32(c, d), _mm512_unpackhi_epi32(c, d));
  const __m512i all =
      _mm512_add_epi32(_mm512_unpacklo_epi64(ab, cd), _mm512_unpackhi_epi64(ab, cd));
  const __m256i half =
      _mm256_add_epi32(_mm512_castsi512_si256(all), _mm512_extracti64x4_epi64(all, 1));
  return _mm_add_epi32(_mm256_castsi256_si128(half), _mm256_extracti128_si256(half, 1));
}

// As Int4Sums of 32 groups.
inline void SumInt4Groups(const GroupBatch& batch, Int4BatchSums& sums) {
  const __m512i one = _mm512_set1_epi16(1);
  alignas(64) __m128i own[GroupBatch::kMost];
  for (uint32_t i = 0; i < GroupBatch::kMost; ++i) {
    const __m512 low = _mm512_set1_ps(Bf16ToFloat(LoadWord(batch.words[0], i)));
    const SplitWords coded = SplitWords(Avx512::LoadWords(batch.values[i]))
                                 .Minus(low)
                                 .Times(_mm512_set1_ps(batch.inverses[i]));
    const __m512i codes = coded.Rounded();
    const __m512i steps = coded.Times(_mm512_set1_ps(kInt4Steps)).Rounded();
    own[i] = FourWholeSums(_mm512_madd_epi16(steps, one), _mm512_madd_epi16(steps, codes),
                           _mm512_madd_epi16(codes, one), _mm512_madd_epi16(codes, codes));
  }
  SumsApart(own, sums.own, 0);
  SumsApart(own + GroupBatch::kMost / 2, sums.own, GroupBatch::kMost / 2);
  for (uint32_t i = 0; i < GroupBatch::kMost; ++i) {
    if (!CanFitInt4(LoadWord(batch.words[1], i))) {
      sums.KeepLine(i);
    }
  }
}

inline void EncodeInt4Rows(const SimdSource& from, const SimdCoded& to) {
  const uint32_t groups = from.rows * (from.size / kGroupValues);
  if (from.type != HalfType::kBf16 || from.size % kGroupValues != 0) {
    AnyEncodeInt4<Avx512>(from, to);
    return;
  }
  const SimdCoded all = to;
  for (uint32_t first = 0; first < groups; first += GroupBatch::kMost) {
    GroupBatch batch(from, first, GroupBatch::kMost);
    if (batch.count < GroupBatch::kMost || !LowsAndHighs(batch, batch.words[0], batch.words[1])) {
      EncodeInt4Batch<Avx512, HalfType::kBf16>(batch, first, all);
      continue;
    }
    SpanInt4Groups<Avx512, HalfType::kBf16>(batch);
    if (all.careful) {
      Int4BatchSums sums;
      SumInt4Groups(batch, sums);
      FitInt4Groups<Avx512, HalfType::kBf16>(batch, sums);
    }
    StoreInt4Constants(batch, first, all);
    for (uint32_t i = 0; i < GroupBatch::kMost; ++i) {
      const __m512 low = _mm512_set1_ps(Bf16ToFloat(LoadWord(batch.words[0], i)));
      const __m512i codes = SplitWords(Avx512::LoadWords(batch.values[i]))
                                .Minus(low)
                                .Times(_mm512_set1_ps(batch.inverses[i]))
                                .Rounded();
      const __m512i bounded =
          _mm512_max_epi16(_mm512_min_epi16(codes, _mm512_set1_epi16(15)), _mm512_setzero_si512());
      StoreNibbles(all.codes + size_t{first + i} * PackedBytes(kGroupValues), bounded);
    }
  }
}

}  // namespace
}  // namespace kvcast

KVCAST_TARGET_END

#endif
