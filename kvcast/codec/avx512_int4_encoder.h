// Int4's rows of BF16 encoded in ways that only AVX-512 has, as in avx512_encoders.h.
#pragma once

#include "kvcast/codec/simd_target.h"

#ifdef KVCAST_X86_KERNELS

#include <immintrin.h>

#include "kvcast/codec/avx512_words.h"

KVCAST_AVX512_BEGIN

namespace kvcast {
namespace {

// The lows and highs of 32 groups, as words.
struct Int4Bounds {
  __m512i low;
  __m512i high;

  explicit Int4Bounds(const GroupBatch& batch) {
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
    low = Avx512::Ordered(OfLanes<Least>(least));  // The same way back.
    high = Avx512::Ordered(OfLanes<Most>(most));
  }
  bool AllFinite() const {
    return !AnyBeyond(_mm512_max_epu16(MagnitudesOf(low), MagnitudesOf(high)));
  }
};

// What a batch's values are coded by: where their group begins, and how many steps make 1. In
// memory as registers are stored and loaded again: what is put together of smaller stores, or
// crosses a line, has to wait for all that was written before it.
struct Int4Lines {
  alignas(64) float lows[GroupBatch::kMost];
  alignas(64) float scales[GroupBatch::kMost];
  alignas(64) float steps[GroupBatch::kMost];

  // As SpanInt4Groups.
  Int4Lines(const Int4Bounds& bounds, float parts) {
    const Avx512::Floats low = Avx512::SmallAsZero(Avx512::OfBf16(bounds.low));
    const Avx512::Floats span =
        Avx512::SmallAsZero(Avx512::Minus(Avx512::OfBf16(bounds.high), low));
    const Avx512::Floats scale =
        Avx512::OfBf16(Avx512::Bf16Words(Avx512::Scaled(span, 1.0F / 15.0F)));
    Avx512::StoreFloats(lows, low);
    Avx512::StoreFloats(scales, scale);
    const Avx512::Floats inverse = {Avx512::InverseOrZero(scale.a), Avx512::InverseOrZero(scale.b)};
    Avx512::StoreFloats(steps, Avx512::Scaled(inverse, parts));
  }
  __m512i LowWords() const { return Avx512::Bf16Words(Avx512::LoadFloats(lows)); }
  __m512i ScaleWords() const { return Avx512::Bf16Words(Avx512::LoadFloats(scales)); }
  SplitWords Of(const GroupBatch& batch, uint32_t group) const {
    batch.AskBehind(group);
    return SplitWords(Avx512::LoadWords(batch.values[group]))
        .Minus(_mm512_set1_ps(lows[group]))
        .Times(_mm512_set1_ps(steps[group]));
  }
};

// As Int4Sums of two groups, in each 128 bits what its eight bytes of either come to: w of the
// first and of the second, wq of both; and q and qq.
struct Int4PairSums {
  __m512i w;
  __m512i q;

  Int4PairSums(__m512i steps, __m512i codes) {
    const __m512i none = _mm512_setzero_si512();
    const __m512i one = _mm512_set1_epi8(1);
    w = Adjacent(_mm512_dpbusd_epi32(none, steps, one), _mm512_dpbusd_epi32(none, steps, codes));
    q = Adjacent(_mm512_dpbusd_epi32(none, codes, one), _mm512_dpbusd_epi32(none, codes, codes));
  }
  static __m512i Adjacent(__m512i a, __m512i b) {
    const __m512 x = _mm512_castsi512_ps(a);
    const __m512 y = _mm512_castsi512_ps(b);
    return _mm512_add_epi32(_mm512_castps_si512(_mm512_shuffle_ps(x, y, 0x88)),
                            _mm512_castps_si512(_mm512_shuffle_ps(x, y, 0xdd)));
  }
  static __m512i OfLanes(__m512i a, __m512i b) {
    return _mm512_add_epi32(_mm512_shuffle_i32x4(a, b, 0x88), _mm512_shuffle_i32x4(a, b, 0xdd));
  }
  __m512i OfAll() const { return OfLanes(w, q); }
};

// Sums of 16 groups, of four each: w0 w1 wq0 wq1 q0 q1 qq0 qq1 w2 and so on.
inline void SumsApart(const __m512i (&fours)[4], Int4BatchSums& sums, uint32_t first) {
  const __m512i pairs = _mm512_setr_epi32(0, 1, 8, 9, 16, 17, 24, 25, 2, 3, 10, 11, 18, 19, 26, 27);
  for (uint32_t k = 0; k < 2; ++k) {
    const __m512i places = _mm512_add_epi32(pairs, _mm512_set1_epi32(static_cast<int32_t>(4 * k)));
    const __m512 a = _mm512_cvtepi32_ps(_mm512_permutex2var_epi32(fours[0], places, fours[1]));
    const __m512 b = _mm512_cvtepi32_ps(_mm512_permutex2var_epi32(fours[2], places, fours[3]));
    _mm512_store_ps(sums.own[size_t{k} * 2] + first, _mm512_shuffle_f32x4(a, b, 0x44));
    _mm512_store_ps(sums.own[size_t{k} * 2 + 1] + first, _mm512_shuffle_f32x4(a, b, 0xee));
  }
}

// The codes of 32 groups, and better lines for them.
inline void EncodeInt4Carefully(GroupBatch& batch, Int4Lines& lines, std::byte* codes) {
  const __m512i half = _mm512_set1_epi8(1 << (kInt4StepBits - 1));
  Int4BatchSums sums;
  __m512i fours[4];
  for (uint32_t i = 0; i < GroupBatch::kMost; i += 16) {
    for (uint32_t k = 0; k < 4; ++k) {
      __m512i pairs[2];
      for (uint32_t j = 0; j < 2; ++j, codes += 2 * PackedBytes(kGroupValues)) {
        const uint32_t group = i + 4 * k + 2 * j;
        const __m512i steps =
            PairBytes::Unsigned(lines.Of(batch, group), lines.Of(batch, group + 1));
        const __m512i whole = _mm512_and_si512(
            _mm512_srli_epi16(_mm512_add_epi8(steps, half), kInt4StepBits), _mm512_set1_epi8(15));
        PairBytes::StoreNibbles(codes, whole);
        pairs[j] = Int4PairSums(steps, whole).OfAll();
      }
      fours[k] = Int4PairSums::OfLanes(pairs[0], pairs[1]);
    }
    SumsApart(fours, sums, i);
  }
  // From 2^-90 to 2^90, as CanFitInt4 says; others are looked at one by one.
  const __m512i scales = lines.ScaleWords();
  if (_mm512_cmpgt_epu16_mask(_mm512_sub_epi16(scales, _mm512_set1_epi16(kInt4FitLeast)),
                              _mm512_set1_epi16(kInt4FitMost - kInt4FitLeast)) != 0) {
    _mm512_storeu_si512(batch.words[1], scales);
    sums.KeepLines(batch);
  }
  Avx512::Floats low = Avx512::LoadFloats(lines.lows);
  Avx512::Floats scale = Avx512::LoadFloats(lines.scales);
  FitInt4Lines<Avx512>(low, scale, sums);
  Avx512::StoreFloats(lines.lows, low);
  Avx512::StoreFloats(lines.scales, scale);
}

inline void EncodeInt4Rows(const SimdSource& from, const SimdCoded& to) {
  const uint32_t groups = from.rows * (from.size / kGroupValues);
  if (from.type != HalfType::kBf16 || from.size % kGroupValues != 0) {
    AnyEncodeInt4<Avx512>(from, to);
    return;
  }
  // Bytes that are written could be anything's. One by one: copied as a whole, they would have to
  // be in the cache, behind all that was written before them.
  std::byte* const all_codes = to.codes;
  std::byte* const offsets = to.offsets;
  std::byte* const scales = to.scales;
  const bool careful = to.careful;
  for (uint32_t first = 0; first < groups; first += GroupBatch::kMost) {
    GroupBatch batch(from, first, GroupBatch::kMost);
    if (batch.count < GroupBatch::kMost) {
      EncodeInt4Batch<Avx512, HalfType::kBf16>(batch, first, to);
      continue;
    }
    const Int4Bounds bounds(batch);
    if (!bounds.AllFinite()) {
      EncodeInt4Batch<Avx512, HalfType::kBf16>(batch, first, to);
      continue;
    }
    Int4Lines lines(bounds, careful ? kInt4Steps : 1.0F);
    std::byte* codes = all_codes + size_t{first} * PackedBytes(kGroupValues);
    if (careful) {
      EncodeInt4Carefully(batch, lines, codes);
    } else {
      // Not beyond 15: a scale is too small by less than 2^-8 of it.
      for (uint32_t i = 0; i < GroupBatch::kMost; i += 2, codes += 2 * PackedBytes(kGroupValues)) {
        PairBytes::StoreNibbles(codes,
                                PairBytes::Unsigned(lines.Of(batch, i), lines.Of(batch, i + 1)));
      }
    }
    _mm512_storeu_si512(offsets + first * sizeof(uint16_t), lines.LowWords());
    _mm512_storeu_si512(scales + first * sizeof(uint16_t), lines.ScaleWords());
  }
}

}  // namespace
}  // namespace kvcast

KVCAST_TARGET_END

#endif
