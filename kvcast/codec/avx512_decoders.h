// Rows decoded in ways that only AVX-512 has: where few codes are possible, the values of all of
// them are made first, and then looked up. Whatever else there is goes by the kernels that all
// instruction sets share.
//
// `Rounding` gives 32 floats as BF16, in order. Of rows there are no results that are denormal: see
// number_format.h.
#pragma once

#include "kvcast/codec/simd_target.h"

#ifdef KVCAST_X86_KERNELS

#include <immintrin.h>

#include <algorithm>
#include <cstring>

#include "kvcast/codec/avx512_vectors.h"

KVCAST_AVX512_BEGIN

namespace kvcast {
namespace {

struct RoundingByHand {
  static __m512i Bf16(__m512 first, __m512 second) {
    const __m512i mixed =
        _mm512_packus_epi32(Avx512::RoundedToBf16(first), Avx512::RoundedToBf16(second));
    return _mm512_permutexvar_epi64(_mm512_setr_epi64(0, 2, 4, 6, 1, 3, 5, 7), mixed);
  }
};

template <typename Rounding>
void DecodeInt8Rows(const SimdConstCoded& from, const SimdTarget& to) {
  if (to.type != HalfType::kBf16 || to.size % kGroupValues != 0) {
    AnyDecodeInt8<Avx512>(from, to);
    return;
  }
  const std::byte* codes = from.codes;
  for (uint32_t row = 0; row < to.rows; ++row, codes += to.size) {
    std::byte* const values = to.Row(row);
    const float scale = Bf16ToFloat(LoadWord(from.scales, row));
    for (uint32_t i = 0; i < to.size; i += kGroupValues) {
      const Avx512::Floats x = Avx512::Scaled(Avx512::FromInt8(codes + i), scale);
      StoreLine(values + i * kPageValueBytes, Rounding::Bf16(x.a, x.b));
    }
  }
}

// Both bytes of a value by its code, of two lines at a time; the sign is the code's own.
inline void DecodeFp8Rows(const SimdConstCoded& from, const SimdTarget& to) {
  constexpr uint32_t kStep = 2 * kGroupValues;
  if (to.size % kStep != 0) {
    AnyDecodeFp8<Avx512>(from, to);
    return;
  }
  const __m512i halves = _mm512_setr_epi64(0, 4, 1, 5, 2, 6, 3, 7);
  const __m512i sign = _mm512_set1_epi8(static_cast<char>(0x80));
  const std::byte* codes = from.codes;
  for (uint32_t row = 0; row < to.rows; ++row, codes += to.size) {
    std::byte* const values = to.Row(row);
    const Fp8Table& table = from.tables[row];
    const __m512i low[2] = {_mm512_load_si512(table.low), _mm512_load_si512(table.low + 64)};
    const __m512i high[2] = {_mm512_load_si512(table.high), _mm512_load_si512(table.high + 64)};
    for (uint32_t i = 0; i < to.size; i += kStep) {
      // So that what unpacking gives is in order.
      const __m512i code = _mm512_permutexvar_epi64(halves, _mm512_loadu_si512(codes + i));
      const __m512i below = _mm512_permutex2var_epi8(low[0], code, low[1]);
      const __m512i above = _mm512_ternarylogic_epi64(
          _mm512_permutex2var_epi8(high[0], code, high[1]), code, sign, 0xf8);
      std::byte* const at = values + i * kPageValueBytes;
      StoreLine(at, _mm512_unpacklo_epi8(below, above));
      StoreLine(at + kGroupBytes, _mm512_unpackhi_epi8(below, above));
    }
  }
}

// A group's 32 codes as words; the lower 16 with other bits above them.
inline __m512i PackedWords(const std::byte* codes) {
  const __m256i twice = _mm256_broadcastsi128_si256(Avx512::LoadBytes(codes));
  const __m512i shift = _mm512_inserti64x4(_mm512_setzero_si512(), _mm256_set1_epi16(4), 1);
  return _mm512_srlv_epi16(_mm512_cvtepu8_epi16(twice), shift);
}

template <typename Rounding>
struct Avx512Int4Group {
  static void Store(float scale, float low, const std::byte* packed, std::byte* to) {
    const __m512 codes = _mm512_setr_ps(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    const __m512 all =
        _mm512_add_ps(_mm512_mul_ps(codes, _mm512_set1_ps(scale)), _mm512_set1_ps(low));
    // Twice the same 16 values, so that a bit too many does no harm.
    StoreLine(to, _mm512_permutexvar_epi16(PackedWords(packed), Rounding::Bf16(all, all)));
  }
};

template <typename Rounding>
struct Avx512Fp4Group {
  static void Store(const float* two, const std::byte* packed, std::byte* to) {
    const __m512 codes = _mm512_setr_ps(0.0F, 0.5F, 1.0F, 1.5F, 2.0F, 3.0F, 4.0F, 6.0F, -0.0F,
                                        -0.5F, -1.0F, -1.5F, -2.0F, -3.0F, -4.0F, -6.0F);
    const __m512i table = Rounding::Bf16(_mm512_mul_ps(codes, _mm512_set1_ps(two[0])),
                                         _mm512_mul_ps(codes, _mm512_set1_ps(two[1])));
    // The second block's values stand behind the first's.
    const __m512i second = _mm512_inserti64x4(_mm512_setzero_si512(), _mm256_set1_epi16(16), 1);
    const __m512i indexes =
        _mm512_ternarylogic_epi64(PackedWords(packed), _mm512_set1_epi16(15), second, 0xea);
    StoreLine(to, _mm512_permutexvar_epi16(indexes, table));
  }
};

}  // namespace
}  // namespace kvcast

KVCAST_TARGET_END

#endif
