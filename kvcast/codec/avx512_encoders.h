// Rows of BF16 encoded in ways that only AVX-512 has. Whatever else there is goes by the kernels
// that all instruction sets share: other types, rows that are not whole groups, values that are not
// finite.
#pragma once

#include "kvcast/codec/simd_target.h"

#ifdef KVCAST_X86_KERNELS

#include <immintrin.h>

#include <array>

#include "kvcast/codec/avx512_words.h"

KVCAST_AVX512_BEGIN

namespace kvcast {
namespace {

inline void EncodeInt8Rows(const SimdSource& from, const SimdCoded& to) {
  if (from.type != HalfType::kBf16 || from.size % kGroupValues != 0) {
    AnyEncodeInt8<Avx512>(from, to);
    return;
  }
  std::byte* codes = to.codes;  // One by one, as Int4's.
  std::byte* const scales = to.scales;
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
      SimdCoded out = to;
      out.codes = codes;
      out.scales = scales + row * sizeof(uint16_t);
      AnyEncodeInt8<Avx512>(one, out);
      continue;
    }
    const float largest = Bf16ToFloat(largest_bits);
    const uint16_t scale = largest < kSpanMin ? uint16_t{0} : FloatToBf16(largest / 127.0F);
    const __m512 inverse = _mm512_set1_ps(scale == 0 ? 0.0F : 1.0F / Bf16ToFloat(scale));
    StoreWord(scales, row, scale);
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

}  // namespace
}  // namespace kvcast

KVCAST_TARGET_END

#endif
