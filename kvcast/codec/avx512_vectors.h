// AVX-512's vectors for the row kernels.
#pragma once

#include "kvcast/codec/simd_target.h"

#ifdef KVCAST_X86_KERNELS

#include <immintrin.h>

#include "kvcast/codec/avx512_floats.h"
#include "kvcast/codec/avx512_line.h"
#include "kvcast/codec/number_format.h"

KVCAST_AVX512_BEGIN

namespace kvcast {
namespace {

// With codes, one a value.
struct Avx512 : Avx512Floats {
  using ByteCodes = __m256i;

  static __m512i RoundedToBf16(__m512 x) {
    const __m512i bits = _mm512_castps_si512(x);
    const __m512i odd = _mm512_and_si512(_mm512_srli_epi32(bits, 16), _mm512_set1_epi32(1));
    const __m512i up = _mm512_add_epi32(odd, _mm512_set1_epi32(0x7fff));
    return _mm512_srli_epi32(_mm512_add_epi32(bits, up), 16);
  }
  static __m256i RoundedToHalf(__m512 x) {
    const __m512 most = _mm512_set1_ps(65504.0F);
    const __m512 within = _mm512_max_ps(_mm512_min_ps(x, most), _mm512_set1_ps(-65504.0F));
    return _mm512_cvtps_ph(within, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
  }
  static __m512i Bf16Words(const Floats& x) {
    const __m512i mixed = _mm512_packus_epi32(RoundedToBf16(x.a), RoundedToBf16(x.b));
    return _mm512_permutexvar_epi64(_mm512_setr_epi64(0, 2, 4, 6, 1, 3, 5, 7), mixed);
  }
  template <HalfType kType>
  static void Store(std::byte* to, const Floats& x) {
    if constexpr (kType == HalfType::kFp16) {
      StoreLine(to, _mm512_inserti64x4(_mm512_castsi256_si512(RoundedToHalf(x.a)),
                                       RoundedToHalf(x.b), 1));
    } else {
      StoreLine(to, Bf16Words(x));
    }
  }

  static __m256i Joined(__m128i first, __m128i second) {
    return _mm256_inserti128_si256(_mm256_castsi128_si256(first), second, 1);
  }
  static void StoreBytes(std::byte* to, ByteCodes codes) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), codes);
  }
  static void StorePacked(std::byte* to, ByteCodes codes) {
    const __m128i upper = _mm_slli_epi16(_mm256_extracti128_si256(codes, 1), 4);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to),
                     _mm_or_si128(_mm256_castsi256_si128(codes), upper));
  }
  static ByteCodes ToInt8(const Floats& x) {
    return Joined(_mm512_cvtsepi32_epi8(_mm512_cvtps_epi32(x.a)),
                  _mm512_cvtsepi32_epi8(_mm512_cvtps_epi32(x.b)));
  }
  static ByteCodes ToNibbles(const Floats& x) {
    const __m256i most = _mm256_min_epi8(ToInt8(x), _mm256_set1_epi8(15));
    return _mm256_max_epi8(most, _mm256_setzero_si256());
  }
  // Rounded, none below 0 or above 255.
  static __m128i StepBytes(__m512 x) {
    return _mm512_cvtusepi32_epi8(_mm512_cvtps_epi32(_mm512_max_ps(x, _mm512_setzero_ps())));
  }
  static ByteCodes ToSteps(const Floats& x) { return Joined(StepBytes(x.a), StepBytes(x.b)); }
  // Towards 0, none beyond the last part.
  static __m128i PartBytes(__m512 x) {
    const __m512 most = _mm512_set1_ps(static_cast<float>(kFp4PartsMax));
    const __m512 least = _mm512_set1_ps(-static_cast<float>(kFp4PartsMax));
    return _mm512_cvtepi32_epi8(_mm512_cvttps_epi32(_mm512_max_ps(_mm512_min_ps(x, most), least)));
  }
  static ByteCodes ToParts(const Floats& x) { return Joined(PartBytes(x.a), PartBytes(x.b)); }
  static __m128i E4m3Bytes(__m512 x) {
    const __m512i bits = _mm512_castps_si512(x);
    const __m512 largest = _mm512_set1_ps(kE4m3Max);
    const __m512 magnitude = _mm512_min_ps(_mm512_abs_ps(x), largest);
    const __m512i wide = _mm512_castps_si512(magnitude);
    const __m512i odd = _mm512_and_si512(_mm512_srli_epi32(wide, 20), _mm512_set1_epi32(1));
    const __m512i up = _mm512_add_epi32(odd, _mm512_set1_epi32(0x7ffff - (120 << 23)));
    const __m512i normal = _mm512_srli_epi32(_mm512_add_epi32(wide, up), 20);
    const __m512i small = _mm512_cvtps_epi32(_mm512_mul_ps(magnitude, _mm512_set1_ps(0x1p9F)));
    const __mmask16 is_small = _mm512_cmp_ps_mask(magnitude, _mm512_set1_ps(0x1p-6F), _CMP_LT_OQ);
    const __m512i codes = _mm512_mask_mov_epi32(normal, is_small, small);
    const __m512i sign = _mm512_and_si512(_mm512_srli_epi32(bits, 24), _mm512_set1_epi32(0x80));
    return _mm512_cvtepi32_epi8(_mm512_or_si512(codes, sign));
  }
  static ByteCodes ToE4m3(const Floats& x) { return Joined(E4m3Bytes(x.a), E4m3Bytes(x.b)); }

  static __m128i LoadBytes(const std::byte* from) {
    return _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
  }
  static Floats FromInt8(const std::byte* from) {
    return {_mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(LoadBytes(from))),
            _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(LoadBytes(from + 16)))};
  }
  static Floats FromNibbles(const std::byte* from) {
    const __m512i both = _mm512_cvtepu8_epi32(LoadBytes(from));
    return {_mm512_cvtepi32_ps(_mm512_and_si512(both, _mm512_set1_epi32(15))),
            _mm512_cvtepi32_ps(_mm512_srli_epi32(both, 4))};
  }
  static Floats FromE4m3AsHalf(const std::byte* from) {
    const __m512i wide =
        _mm512_cvtepu8_epi16(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(from)));
    const __m512i sign = _mm512_slli_epi16(wide, 8);
    const __m512i rest = _mm512_slli_epi16(wide, 7);
    const __m512i halves =
        _mm512_ternarylogic_epi64(_mm512_set1_epi16(static_cast<int16_t>(kSignBit)), sign,
                                  _mm512_and_si512(rest, _mm512_set1_epi16(0x3f80)), 0xca);
    return {_mm512_cvtph_ps(_mm512_castsi512_si256(halves)),
            _mm512_cvtph_ps(_mm512_extracti64x4_epi64(halves, 1))};
  }
  static Floats FromE2m1(const std::byte* from) {
    const __m512 table = _mm512_setr_ps(0.0F, 0.5F, 1.0F, 1.5F, 2.0F, 3.0F, 4.0F, 6.0F, -0.0F,
                                        -0.5F, -1.0F, -1.5F, -2.0F, -3.0F, -4.0F, -6.0F);
    const __m512i both = _mm512_cvtepu8_epi32(LoadBytes(from));
    return {_mm512_permutexvar_ps(both, table),
            _mm512_permutexvar_ps(_mm512_srli_epi32(both, 4), table)};
  }
};

}  // namespace
}  // namespace kvcast

KVCAST_TARGET_END

#endif
