// FP4's rows of BF16 encoded in ways that only AVX-512 has, as in avx512_encoders.h.
#pragma once

#include "kvcast/codec/simd_target.h"

#ifdef KVCAST_X86_KERNELS

#include <immintrin.h>

#include <array>
#include <cstring>

#include "kvcast/codec/avx512_words.h"

KVCAST_AVX512_BEGIN

namespace kvcast {
namespace {

// The largest magnitudes of a batch's 32 blocks; false if one is not finite.
inline bool LargestOfBlocks(const GroupBatch& batch, std::byte* largest) {
  __m512i halves[2];
  for (uint32_t eight = 0; eight < 2; ++eight) {
    __m512i pairs[4];
    for (uint32_t pair = 0; pair < 4; ++pair) {
      const std::byte* const* const at = batch.values + size_t{eight} * 8 + size_t{pair} * 2;
      const __m512i a = MagnitudesOf(Avx512::LoadWords(at[0]));
      const __m512i b = MagnitudesOf(Avx512::LoadWords(at[1]));
      pairs[pair] = Most::Of(_mm512_unpacklo_epi16(a, b), _mm512_unpackhi_epi16(a, b));
    }
    const __m512i lanes = OfEight<Most>(pairs);
    halves[eight] = Most::Of(lanes, _mm512_shuffle_i64x2(lanes, lanes, 0xb1));
  }
  // Of each group the first block's, and the second's.
  alignas(64) static constexpr auto kPlaces = [] {
    std::array<uint16_t, 32> places{};
    for (uint32_t i = 0; i < places.size(); ++i) {
      const uint32_t group = i / 2;
      places[i] = static_cast<uint16_t>(group % 8 + i % 2 * 16 + group / 8 * 32);
    }
    return places;
  }();
  const __m512i all =
      _mm512_permutex2var_epi16(halves[0], _mm512_load_si512(kPlaces.data()), halves[1]);
  _mm512_storeu_si512(largest, all);
  return !AnyBeyond(all);
}

// Of a group with some scales: where the table of quarters has its values, and what they err.
struct Fp4Places {
  static constexpr float kParts = kFp4ErrorSteps;
  static constexpr float kQuarter = kParts / 4;
  static constexpr float kMost = kE2m1QuartersMax * kQuarter;
  static constexpr uint32_t kQuarterBits = 8;
  static_assert(kQuarter == 1U << kQuarterBits);

  SplitWords parts;  // Magnitudes in 1/1024 of a scale.
  __m512i places;

  Fp4Places(const SplitWords& magnitudes, const float* inverses)
      : parts(magnitudes.Times(OfBlocks(inverses)).AtMost(_mm512_set1_ps(kMost))),
        places(_mm512_srli_epi16(parts.Truncated(), kQuarterBits)) {}
  // The first block's in the lower half.
  static __m512 OfBlocks(const float* two) {
    const __m512 both = _mm512_castpd_ps(_mm512_broadcastsd_pd(
        _mm_castps_pd(_mm_castsi128_ps(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(two))))));
    const __m512i halves = _mm512_setr_epi32(0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1);
    return _mm512_permutexvar_ps(halves, both);
  }
  __m512i Squares(__m512i parts_of_places) const {
    const __m512i off =
        _mm512_sub_epi16(parts.Rounded(), _mm512_permutexvar_epi16(places, parts_of_places));
    return _mm512_madd_epi16(off, off);
  }
};

// What stands for whole quarters: codes, and their values in 1/1024.
struct Fp4Lookups {
  struct Words {
    alignas(64) std::array<uint16_t, 32> codes;
    alignas(64) std::array<uint16_t, 32> parts;
  };
  static constexpr Words kWords = [] {
    Words words{};
    for (size_t i = 0; i < words.codes.size(); ++i) {
      words.codes[i] = kE2m1OfQuarters[i];
      words.parts[i] = static_cast<uint16_t>(kE2m1[kE2m1OfQuarters[i]] * Fp4Places::kParts);
    }
    return words;
  }();

  __m512i codes;
  __m512i parts;

  Fp4Lookups()
      : codes(_mm512_load_si512(kWords.codes.data())),
        parts(_mm512_load_si512(kWords.parts.data())) {}
  // With the signs of `words`.
  void Store(std::byte* to, __m512i places, __m512i words) const {
    const __m512i signs = _mm512_srli_epi16(words, 12);
    StoreNibbles(to, _mm512_ternarylogic_epi64(_mm512_permutexvar_epi16(places, codes), signs,
                                               _mm512_set1_epi16(8), 0xf8));
  }
};

// Inverses of scales, times as many parts as a scale has.
struct Fp4Inverses {
  alignas(64) float parts[GroupBatch::kMost];

  explicit Fp4Inverses(const Fp4Scales<Avx512>& scales) {
    Avx512::StoreFloats(parts,
                        Avx512::Scaled(Avx512::LoadFloats(scales.inverses), Fp4Places::kParts));
  }
  const float* Of(uint32_t group) const { return parts + size_t{group} * 2; }
};

// Both blocks' sums of squares by six and by four, side by side.
inline void StoreErrors(__m512i six, __m512i four, int32_t* to) {
  const __m512i pairs =
      _mm512_add_epi32(_mm512_unpacklo_epi32(six, four), _mm512_unpackhi_epi32(six, four));
  const __m512i lanes = _mm512_add_epi32(pairs, _mm512_shuffle_epi32(pairs, _MM_PERM_BADC));
  const __m512i blocks = _mm512_add_epi32(lanes, _mm512_shuffle_i64x2(lanes, lanes, 0xb1));
  _mm_storel_epi64(reinterpret_cast<__m128i*>(to), _mm512_castsi512_si128(blocks));
  _mm_storel_epi64(reinterpret_cast<__m128i*>(to + 2), _mm512_extracti32x4_epi32(blocks, 2));
}

// FourIsBetter for 16 blocks.
inline __mmask16 FoursAreBetter(const Fp4Scales<Avx512>& six, const Fp4Scales<Avx512>& four,
                                const int32_t* errors, uint32_t first) {
  const __m512i a = _mm512_load_si512(errors + size_t{first} * 2);
  const __m512i b = _mm512_load_si512(errors + size_t{first} * 2 + 16);
  const __m512i even = _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
  const __m512i odd = _mm512_add_epi32(even, _mm512_set1_epi32(1));
  const __m512 by_six = _mm512_mul_ps(_mm512_cvtepi32_ps(_mm512_permutex2var_epi32(a, even, b)),
                                      _mm512_loadu_ps(six.squares + first));
  const __m512 by_four = _mm512_mul_ps(_mm512_cvtepi32_ps(_mm512_permutex2var_epi32(a, odd, b)),
                                       _mm512_loadu_ps(four.squares + first));
  const __m128i six_codes = Avx512::LoadBytes(six.codes + first);
  const __m128i four_codes = Avx512::LoadBytes(four.codes + first);
  return static_cast<__mmask16>(_mm_cmpge_epu8_mask(six_codes, _mm_set1_epi8(kE4m3FirstNormal)) &
                                _mm_cmplt_epu8_mask(four_codes, _mm_set1_epi8(kE4m3LastCode)) &
                                _mm512_cmp_ps_mask(by_four, by_six, _CMP_LT_OQ));
}

inline void EncodeFp4Carefully(const GroupBatch& batch, const Avx512::Floats& largest,
                               const Fp4Scales<Avx512>& six, float tensor,
                               const Fp4Lookups& lookups, std::byte* scales, std::byte* codes) {
  const Fp4Scales<Avx512> four(largest, 4.0F, tensor);
  const Fp4Inverses by_six(six);
  const Fp4Inverses by_four(four);
  __m512i places[kFp4Groups][2];
  alignas(64) int32_t errors[GroupBatch::kMost * 2];
  for (uint32_t i = 0; i < kFp4Groups; ++i) {
    const SplitWords magnitudes(MagnitudesOf(Avx512::LoadWords(batch.values[i])));
    const Fp4Places as_six(magnitudes, by_six.Of(i));
    const Fp4Places as_four(magnitudes, by_four.Of(i));
    StoreErrors(as_six.Squares(lookups.parts), as_four.Squares(lookups.parts),
                errors + size_t{i} * 4);
    places[i][0] = as_six.places;
    places[i][1] = as_four.places;
  }
  const uint32_t fours = FoursAreBetter(six, four, errors, 0) |
                         uint32_t{FoursAreBetter(six, four, errors, kFp4Groups)} << kFp4Groups;
  const __m256i chosen =
      _mm256_mask_blend_epi8(fours, _mm256_load_si256(reinterpret_cast<const __m256i*>(six.codes)),
                             _mm256_load_si256(reinterpret_cast<const __m256i*>(four.codes)));
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(scales), chosen);
  for (uint32_t i = 0; i < kFp4Groups; ++i, codes += PackedBytes(kGroupValues)) {
    constexpr uint32_t kBlock = 0xffff;
    const uint32_t is_four = (fours >> (2 * i) & 1) * kBlock |
                             (fours >> (2 * i + 1) & 1) * (kBlock << kScaleBlockValues);
    lookups.Store(codes, _mm512_mask_blend_epi16(is_four, places[i][0], places[i][1]),
                  Avx512::LoadWords(batch.values[i]));
  }
}

inline void EncodeFp4Rows(const SimdSource& from, const SimdCoded& to) {
  const uint32_t groups = from.rows * (from.size / kGroupValues);
  if (from.type != HalfType::kBf16 || from.size % kGroupValues != 0) {
    AnyEncodeFp4<Avx512>(from, to);
    return;
  }
  const SimdCoded all = to;
  const float tensor = all.statics[0];
  const Fp4Lookups lookups;
  for (uint32_t first = 0; first < groups; first += kFp4Groups) {
    GroupBatch batch(from, first, kFp4Groups);
    std::byte* const scales = all.scales + size_t{first} * 2;
    std::byte* codes = all.codes + size_t{first} * PackedBytes(kGroupValues);
    if (batch.count < kFp4Groups || !LargestOfBlocks(batch, batch.words[0])) {
      EncodeFp4Batch<Avx512, HalfType::kBf16>(batch, tensor, all.careful, scales, codes);
      continue;
    }
    const Avx512::Floats largest = Avx512::Load<HalfType::kBf16>(batch.words[0]);
    const Fp4Scales<Avx512> six(largest, 6.0F, tensor);
    if (all.careful) {
      EncodeFp4Carefully(batch, largest, six, tensor, lookups, scales, codes);
      continue;
    }
    std::memcpy(scales, six.codes, GroupBatch::kMost);
    const Fp4Inverses by_six(six);
    for (uint32_t i = 0; i < kFp4Groups; ++i, codes += PackedBytes(kGroupValues)) {
      const __m512i words = Avx512::LoadWords(batch.values[i]);
      const Fp4Places as_six(SplitWords(MagnitudesOf(words)), by_six.Of(i));
      lookups.Store(codes, as_six.places, words);
    }
  }
}

}  // namespace
}  // namespace kvcast

KVCAST_TARGET_END

#endif
