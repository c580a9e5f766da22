// AVX-512's floats for the row kernels.
#pragma once

#include "kvcast/codec/simd_target.h"

#ifdef KVCAST_X86_KERNELS

#include <immintrin.h>

#include <cstring>

#include "kvcast/codec/number_format.h"
#include "kvcast/codec/scale_search.h"

KVCAST_AVX512_BEGIN

#include "kvcast/codec/simd_fp4_rows.h"

namespace kvcast {
namespace {

// 32 values in two registers of 16 floats.
struct Avx512Floats {
  struct Floats {
    __m512 a;
    __m512 b;
  };
  using Words = __m512i;

  static Words NoWords() { return _mm512_setzero_si512(); }
  static Words LoadWords(const std::byte* from) { return _mm512_loadu_si512(from); }
  static Words LargerMagnitudes(Words a, Words b) {
    return _mm512_max_epu16(a, _mm512_and_si512(b, _mm512_set1_epi16(kMagnitude)));
  }
  static uint16_t LargestWord(Words words) {
    const __m256i half =
        _mm256_max_epu16(_mm512_castsi512_si256(words), _mm512_extracti64x4_epi64(words, 1));
    return LargestOf(half);
  }
  static uint16_t LargestOf(__m256i words) {
    const __m128i quarter =
        _mm_max_epu16(_mm256_castsi256_si128(words), _mm256_extracti128_si256(words, 1));
    return static_cast<uint16_t>(
        ~_mm_cvtsi128_si32(_mm_minpos_epu16(_mm_xor_si128(quarter, _mm_set1_epi16(-1)))));
  }
  static void LargestOfHalves(const std::byte* from, uint16_t& first, uint16_t& second) {
    const __m512i magnitudes = _mm512_and_si512(LoadWords(from), _mm512_set1_epi16(kMagnitude));
    first = LargestOf(_mm512_castsi512_si256(magnitudes));
    second = LargestOf(_mm512_extracti64x4_epi64(magnitudes, 1));
  }

  template <HalfType kType>
  static __m512i BoundedWords(const std::byte* from) {
    constexpr uint16_t kLargest = kType == HalfType::kBf16 ? kBf16Largest : kHalfLargest;
    const __m512i words = LoadWords(from);
    const __m512i magnitudes =
        _mm512_min_epu16(_mm512_and_si512(words, _mm512_set1_epi16(kMagnitude)),
                         _mm512_set1_epi16(static_cast<int16_t>(kLargest)));
    // Where the mask is set the word's bit, elsewhere the magnitude's.
    return _mm512_ternarylogic_epi64(_mm512_set1_epi16(static_cast<int16_t>(kSignBit)), words,
                                     magnitudes, 0xca);
  }
  static Floats OfBf16(__m512i words) {
    const __m256i first = _mm512_castsi512_si256(words);
    const __m256i second = _mm512_extracti64x4_epi64(words, 1);
    return {_mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(first), 16)),
            _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(second), 16))};
  }
  template <HalfType kType>
  static Floats Load(const std::byte* from) {
    const __m512i words = BoundedWords<kType>(from);
    if constexpr (kType == HalfType::kFp16) {
      return {_mm512_cvtph_ps(_mm512_castsi512_si256(words)),
              _mm512_cvtph_ps(_mm512_extracti64x4_epi64(words, 1))};
    } else {
      return OfBf16(words);
    }
  }

  // Words whose order as signed numbers is that of the values.
  static __m512i Ordered(__m512i words) {
    const __m512i negative = _mm512_srai_epi16(words, 15);
    return _mm512_xor_si512(words, _mm512_and_si512(negative, _mm512_set1_epi16(kMagnitude)));
  }
  static uint16_t Unordered(int32_t key) {
    const auto bits = static_cast<uint16_t>(key);
    return (bits & kSignBit) != 0 ? static_cast<uint16_t>(bits ^ kMagnitude) : bits;
  }
  template <HalfType kType>
  static void LowAndHigh(const std::byte* from, uint16_t& low, uint16_t& high) {
    const __m512i keys = Ordered(BoundedWords<kType>(from));
    const __m256i first = _mm512_castsi512_si256(keys);
    const __m256i second = _mm512_extracti64x4_epi64(keys, 1);
    const __m256i least = _mm256_min_epi16(first, second);
    const __m256i most = _mm256_max_epi16(first, second);
    const __m128i least8 =
        _mm_min_epi16(_mm256_castsi256_si128(least), _mm256_extracti128_si256(least, 1));
    const __m128i most8 =
        _mm_max_epi16(_mm256_castsi256_si128(most), _mm256_extracti128_si256(most, 1));
    const __m128i upward = _mm_set1_epi16(static_cast<int16_t>(kSignBit));
    const __m128i downward = _mm_set1_epi16(kMagnitude);
    low = Unordered(_mm_cvtsi128_si32(_mm_minpos_epu16(_mm_xor_si128(least8, upward))) ^ kSignBit);
    high =
        Unordered(_mm_cvtsi128_si32(_mm_minpos_epu16(_mm_xor_si128(most8, downward))) ^ kMagnitude);
  }

  static Floats Scaled(const Floats& x, float by) { return ScaledHalves(x, by, by); }
  static Floats ScaledHalves(const Floats& x, float first, float second) {
    return {_mm512_mul_ps(x.a, _mm512_set1_ps(first)), _mm512_mul_ps(x.b, _mm512_set1_ps(second))};
  }
  static Floats Plus(const Floats& x, float y) {
    return {_mm512_add_ps(x.a, _mm512_set1_ps(y)), _mm512_add_ps(x.b, _mm512_set1_ps(y))};
  }

  static Floats Minus(const Floats& x, const Floats& y) {
    return {_mm512_sub_ps(x.a, y.a), _mm512_sub_ps(x.b, y.b)};
  }
  static Floats Times(const Floats& x, const Floats& y) {
    return {_mm512_mul_ps(x.a, y.a), _mm512_mul_ps(x.b, y.b)};
  }
  static Floats Over(const Floats& x, const Floats& y) {
    return {_mm512_div_ps(x.a, y.a), _mm512_div_ps(x.b, y.b)};
  }
  static Floats LoadFloats(const float* from) {
    return {_mm512_loadu_ps(from), _mm512_loadu_ps(from + 16)};
  }
  static void StoreFloats(float* to, const Floats& x) {
    _mm512_storeu_ps(to, x.a);
    _mm512_storeu_ps(to + 16, x.b);
  }
  static __m512 SmallAsZero(__m512 x) {
    const __mmask16 large =
        _mm512_cmp_ps_mask(_mm512_abs_ps(x), _mm512_set1_ps(kSpanMin), _CMP_GE_OQ);
    return _mm512_maskz_mov_ps(large, x);
  }
  static Floats SmallAsZero(const Floats& x) { return {SmallAsZero(x.a), SmallAsZero(x.b)}; }
  static __m512 InverseOrZero(__m512 x) {
    const __mmask16 any = _mm512_cmp_ps_mask(x, _mm512_setzero_ps(), _CMP_NEQ_OQ);
    return _mm512_maskz_div_ps(any, _mm512_set1_ps(1.0F), x);
  }
  static void StoreInversesOrZeros(float* to, const Floats& x) {
    _mm512_storeu_ps(to, InverseOrZero(x.a));
    _mm512_storeu_ps(to + 16, InverseOrZero(x.b));
  }
};

}  // namespace
}  // namespace kvcast

KVCAST_TARGET_END

#endif
