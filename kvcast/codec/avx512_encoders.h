// Rows of BF16 encoded in ways that only AVX-512 has. Whatever else there is goes by the kernels
// that all instruction sets share: other types, rows that are not whole groups, values that are not
// finite.
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
  SplitWords AtMost(__m512 most) const {
    return {_mm512_min_ps(even, most), _mm512_min_ps(odd, most)};
  }
  // As words in order. REQUIRES: results of 16 bits.
  __m512i Rounded() const { return Joined(_mm512_cvtps_epi32(even), _mm512_cvtps_epi32(odd)); }
  __m512i Truncated() const { return Joined(_mm512_cvttps_epi32(even), _mm512_cvttps_epi32(odd)); }
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

// 32 codes, a word each, as 16 bytes.
inline void StoreNibbles(std::byte* to, __m512i codes) {
  const __m256i upper = _mm256_slli_epi16(_mm512_extracti64x4_epi64(codes, 1), 4);
  _mm_storeu_si128(reinterpret_cast<__m128i*>(to),
                   _mm256_cvtepi16_epi8(_mm256_or_si256(_mm512_castsi512_si256(codes), upper)));
}

inline void EncodeInt8Rows(const SimdSource& from, const SimdCoded& to) {
  const SimdCoded all = to;
  if (from.type != HalfType::kBf16 || from.size % kGroupValues != 0) {
    AnyEncodeInt8<Avx512>(from, to);
    return;
  }
  std::byte* codes = all.codes;
  for (uint32_t row = 0; row < from.rows; ++row, codes += from.size) {
    const std::byte* const values = from.Row(row);
    __m512i most = _mm512_setzero_si512();
    for (uint32_t i = 0; i < from.size; i += kGroupValues) {
      most = Avx512::LargerMagnitudes(most, Avx512::LoadWords(values + i * kPageValueBytes));
    }
    const uint16_t largest_bits = Avx512::LargestWord(most);
    if (largest_bits > kBf16Largest) {
      SimdSource one = from;
      one.values = values;
      one.rows = 1;
      SimdCoded out = all;
      out.codes = codes;
      out.scales = all.scales + row * sizeof(uint16_t);
      AnyEncodeInt8<Avx512>(one, out);
      continue;
    }
    const float largest = Bf16ToFloat(largest_bits);
    const uint16_t scale = largest < kSpanMin ? uint16_t{0} : FloatToBf16(largest / 127.0F);
    const __m512 inverse = _mm512_set1_ps(scale == 0 ? 0.0F : 1.0F / Bf16ToFloat(scale));
    StoreWord(all.scales, row, scale);
    for (uint32_t i = 0; i < from.size; i += kGroupValues) {
      const SplitWords x(Avx512::LoadWords(values + i * kPageValueBytes));
      // Not beyond 127: a scale is too small by less than 2^-8 of it.
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(codes + i),
                          _mm512_cvtepi16_epi8(x.Times(inverse).Rounded()));
    }
  }
}

// 64 values by their table; false where one is too small for it.
inline bool EncodeFp8Values(const std::byte* values, const Fp8Table& table, std::byte* codes) {
  const __m512i first = Avx512::LoadWords(values);
  const __m512i second = Avx512::LoadWords(values + kGroupBytes);
  alignas(64) static constexpr auto kEvenBytes = [] {
    std::array<uint8_t, 64> places{};
    for (size_t i = 0; i < places.size(); ++i) {
      places[i] = static_cast<uint8_t>(2 * i);
    }
    return places;
  }();
  const __m512i even = _mm512_load_si512(kEvenBytes.data());
  const __m512i odd = _mm512_add_epi8(even, _mm512_set1_epi8(1));
  const __m512i low = _mm512_permutex2var_epi8(first, even, second);
  const __m512i high = _mm512_permutex2var_epi8(first, odd, second);
  const __m512i exponents =
      _mm512_permutex2var_epi8(_mm512_srli_epi16(first, 7), even, _mm512_srli_epi16(second, 7));
  const __m512i least = _mm512_set1_epi8(static_cast<char>(table.first_exponent));
  if (_mm512_cmplt_epu8_mask(exponents, least) != 0) {
    return false;
  }
  const __m512i of_mantissa = _mm512_permutex2var_epi8(_mm512_load_si512(table.codes), low,
                                                       _mm512_load_si512(table.codes + 64));
  const __m512i above =
      _mm512_min_epu8(_mm512_sub_epi8(exponents, least), _mm512_set1_epi8(16));  // That saturates.
  const __m512i raised =
      _mm512_add_epi8(of_mantissa, _mm512_slli_epi16(above, 3));  // No bit leaves its byte.
  const __m512i magnitudes = _mm512_min_epu8(raised, _mm512_set1_epi8(kE4m3LastCode));
  _mm512_storeu_si512(
      codes,
      _mm512_ternarylogic_epi64(magnitudes, high, _mm512_set1_epi8(static_cast<char>(0x80)), 0xf8));
  return true;
}

inline void EncodeFp8Rows(const SimdSource& from, const SimdCoded& to) {
  constexpr uint32_t kStep = 2 * kGroupValues;
  if (from.type != HalfType::kBf16 || from.size % kStep != 0) {
    AnyEncodeFp8<Avx512>(from, to);
    return;
  }
  std::byte* codes = to.codes;
  for (uint32_t row = 0; row < from.rows; ++row, codes += from.size) {
    const std::byte* const values = from.Row(row);
    for (uint32_t i = 0; i < from.size; i += kStep) {
      const std::byte* const at = values + i * kPageValueBytes;
      if (!EncodeFp8Values(at, to.tables[row], codes + i)) {
        const float inverse = 1.0F / to.statics[row];
        for (uint32_t k = 0; k < kStep; k += kGroupValues) {
          const Avx512::Floats x = Avx512::Load<HalfType::kBf16>(at + k * kPageValueBytes);
          Avx512::StoreBytes(codes + i + k, Avx512::ToE4m3(Avx512::Scaled(x, inverse)));
        }
      }
    }
  }
}

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
