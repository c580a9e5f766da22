// Words of BF16 in AVX-512's registers, as its encoders work on them.
//
// Of 32 words, the 16 with even numbers and the 16 with odd ones are floats as soon as the others
// are masked out: no value changes its place.
#pragma once

#include "kvcast/codec/simd_target.h"

#ifdef KVCAST_X86_KERNELS

#include <immintrin.h>

#include <array>

#include "kvcast/codec/avx512_vectors.h"

KVCAST_AVX512_BEGIN

namespace kvcast {
namespace {

struct SplitWords {
  __m512 even;
  __m512 odd;

  explicit SplitWords(__m512i words)
      : even(_mm512_castsi512_ps(_mm512_slli_epi32(words, 16))),
        odd(_mm512_castsi512_ps(
            _mm512_and_si512(words, _mm512_set1_epi32(static_cast<int32_t>(0xffff0000))))) {}
  SplitWords(__m512 even_ones, __m512 odd_ones) : even(even_ones), odd(odd_ones) {}

  SplitWords Times(__m512 by) const { return {_mm512_mul_ps(even, by), _mm512_mul_ps(odd, by)}; }
  SplitWords Minus(__m512 by) const { return {_mm512_sub_ps(even, by), _mm512_sub_ps(odd, by)}; }
  // As words in order. REQUIRES: results of 16 bits.
  __m512i Rounded() const { return Joined(_mm512_cvtps_epi32(even), _mm512_cvtps_epi32(odd)); }
  static __m512i Joined(__m512i even_ones, __m512i odd_ones) {
    return _mm512_mask_blend_epi16(0xaaaaaaaa, even_ones, _mm512_slli_epi32(odd_ones, 16));
  }
};

inline __m512i MagnitudesOf(__m512i words) {
  return _mm512_and_si512(words, _mm512_set1_epi16(kMagnitude));
}
inline bool AnyBeyond(__m512i magnitudes) {
  return _mm512_cmpgt_epu16_mask(magnitudes, _mm512_set1_epi16(kBf16Largest)) != 0;
}

// Values of two groups as bytes: in each 128 bits eight of the first group, the four with even
// numbers in front, and eight of the second.
struct PairBytes {
  // Of whole numbers that are bytes, or beyond: without signs, and with them.
  static __m512i Unsigned(const SplitWords& first, const SplitWords& second) {
    return _mm512_packus_epi16(Rounded(first), Rounded(second));
  }
  static __m512i Signed(const SplitWords& first, const SplitWords& second) {
    return _mm512_packs_epi16(Truncated(first), Truncated(second));
  }
  static __m512i Rounded(const SplitWords& x) {
    return _mm512_packs_epi32(_mm512_cvtps_epi32(x.even), _mm512_cvtps_epi32(x.odd));
  }
  static __m512i Truncated(const SplitWords& x) {
    return _mm512_packs_epi32(_mm512_cvttps_epi32(x.even), _mm512_cvttps_epi32(x.odd));
  }
  // Codes of 4 bits as they are packed, first one group and then the other.
  static void StoreNibbles(std::byte* to, __m512i codes) {
    alignas(32) static constexpr auto kPlaces = [] {
      std::array<uint8_t, 32> places{};
      for (uint32_t i = 0; i < places.size(); ++i) {
        const uint32_t value = i % 16;
        places[i] =
            static_cast<uint8_t>(value / 8 * 16 + i / 16 * 8 + value % 2 * 4 + value % 8 / 2);
      }
      return places;
    }();
    const __m256i upper = _mm256_slli_epi16(_mm512_extracti64x4_epi64(codes, 1), 4);
    const __m256i order = _mm256_load_si256(reinterpret_cast<const __m256i*>(kPlaces.data()));
    _mm256_storeu_si256(
        reinterpret_cast<__m256i*>(to),
        _mm256_permutexvar_epi8(order, _mm256_or_si256(_mm512_castsi512_si256(codes), upper)));
  }
};

struct Least {
  static __m512i Of(__m512i a, __m512i b) { return _mm512_min_epi16(a, b); }
};
struct Most {
  static __m512i Of(__m512i a, __m512i b) { return _mm512_max_epi16(a, b); }
};

// Of eight vectors of words, in each 128 bits, the least or most of every vector's eight there:
// after two levels of three, given the first.
template <typename Choice>
inline __m512i OfEight(const __m512i (&pairs)[4]) {
  const __m512i first = Choice::Of(_mm512_unpacklo_epi32(pairs[0], pairs[1]),
                                   _mm512_unpackhi_epi32(pairs[0], pairs[1]));
  const __m512i second = Choice::Of(_mm512_unpacklo_epi32(pairs[2], pairs[3]),
                                    _mm512_unpackhi_epi32(pairs[2], pairs[3]));
  return Choice::Of(_mm512_unpacklo_epi64(first, second), _mm512_unpackhi_epi64(first, second));
}
// Of four of these, all of a vector's: 32 words in the order of vectors.
template <typename Choice>
inline __m512i OfHalves(__m512i a, __m512i b) {
  return Choice::Of(_mm512_shuffle_i64x2(a, b, 0x88), _mm512_shuffle_i64x2(a, b, 0xdd));
}
template <typename Choice>
inline __m512i OfLanes(const __m512i (&eights)[4]) {
  return OfHalves<Choice>(OfHalves<Choice>(eights[0], eights[1]),
                          OfHalves<Choice>(eights[2], eights[3]));
}

}  // namespace
}  // namespace kvcast

KVCAST_TARGET_END

#endif
