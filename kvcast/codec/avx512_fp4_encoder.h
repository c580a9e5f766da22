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

// The largest magnitudes of a batch's 32 blocks, as words.
inline __m512i LargestOfBlocks(const GroupBatch& batch) {
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
  return _mm512_permutex2var_epi16(halves[0], _mm512_load_si512(kPlaces.data()), halves[1]);
}

// Bytes by signed numbers within 63.
struct Fp4SignedTable {
  struct Bytes {
    alignas(64) std::array<uint8_t, 128> own;
  };
  __m512i halves[2];

  explicit Fp4SignedTable(const Bytes& bytes)
      : halves{_mm512_load_si512(bytes.own.data()), _mm512_load_si512(bytes.own.data() + 64)} {}
  __m512i Of(__m512i numbers) const {
    return _mm512_permutex2var_epi8(halves[0], numbers, halves[1]);
  }
  // `byte_of` is told a choice, and whether its number is negative.
  template <typename Byte>
  static constexpr Bytes Of(const Byte& byte_of) {
    Bytes bytes{};
    for (size_t i = 0; i < bytes.own.size(); ++i) {
      const bool negative = i >= kFp4Choices.size();
      const size_t magnitude = negative ? bytes.own.size() - i : i;
      bytes.own[i] = byte_of(kFp4Choices[std::min(magnitude, kFp4Choices.size() - 1)], negative);
    }
    return bytes;
  }
};

struct Fp4SignedTables {
  static constexpr Fp4SignedTable::Bytes kSix =
      Fp4SignedTable::Of([](const Fp4Choice& of, bool negative) {
        return static_cast<uint8_t>(of.six | (negative ? 8 : 0));
      });
  static constexpr Fp4SignedTable::Bytes kFour =
      Fp4SignedTable::Of([](const Fp4Choice& of, bool negative) {
        return static_cast<uint8_t>(of.four | (negative ? 8 : 0));
      });
  static constexpr Fp4SignedTable::Bytes kBetter = Fp4SignedTable::Of(
      [](const Fp4Choice& of, bool) { return static_cast<uint8_t>(of.better + kFp4Bias); });
  Fp4SignedTable six{kSix};
  Fp4SignedTable four{kFour};
  Fp4SignedTable better{kBetter};
};

// A group's values in parts of its blocks' scales.
inline SplitWords Fp4Parts(const GroupBatch& batch, const Fp4Scales<Avx512>& scales,
                           uint32_t group) {
  constexpr __mmask16 kSecond = 0xff00;
  batch.AskBehind(group);
  const float* const two = scales.inverses + size_t{group} * 2;
  const __m512 by =
      _mm512_mask_broadcastss_ps(_mm512_set1_ps(two[0]), kSecond, _mm_load_ss(two + 1));
  return SplitWords(Avx512::LoadWords(batch.values[group])).Times(by);
}

// Four blocks as bits, and the eights of bytes that they have where PairBytes puts them: the first
// block of either group in the lower half, the second in the upper.
struct Fp4Blocks {
  std::array<uint8_t, 64> of_eights{};
  std::array<uint8_t, 16> eights{};

  constexpr Fp4Blocks() {
    for (uint32_t blocks = 0; blocks < eights.size(); ++blocks) {
      const uint32_t lower = (blocks & 1) | (blocks >> 2 & 1) << 1;
      const uint32_t upper = (blocks >> 1 & 1) | (blocks >> 3 & 1) << 1;
      eights[blocks] = static_cast<uint8_t>(lower * 0x05 | upper * 0x50);
      of_eights[eights[blocks] % of_eights.size()] = static_cast<uint8_t>(blocks);
    }
  }
};
inline constexpr Fp4Blocks kFp4Blocks;

// 16 groups, and which of their blocks took four, of those that may.
inline uint32_t EncodeFp4Carefully(const GroupBatch& batch, const Fp4Scales<Avx512>& six,
                                   uint32_t may, const Fp4SignedTables& tables, std::byte* codes) {
  constexpr int64_t kEven = int64_t{kScaleBlockValues} * kFp4Bias;
  uint32_t fours = 0;
  for (uint32_t i = 0; i < kFp4Groups; i += 2, codes += 2 * PackedBytes(kGroupValues)) {
    const __m512i parts = PairBytes::Signed(Fp4Parts(batch, six, i), Fp4Parts(batch, six, i + 1));
    const __m512i eights = _mm512_sad_epu8(tables.better.Of(parts), _mm512_setzero_si512());
    const __m512i sums = _mm512_add_epi64(eights, _mm512_shuffle_i64x2(eights, eights, 0xb1));
    const __mmask8 is_four = _mm512_mask_cmpgt_epi64_mask(kFp4Blocks.eights[may >> (2 * i) & 15],
                                                          sums, _mm512_set1_epi64(kEven));
    PairBytes::StoreNibbles(
        codes, _mm512_mask_blend_epi64(is_four, tables.six.Of(parts), tables.four.Of(parts)));
    fours |= uint32_t{kFp4Blocks.of_eights[is_four % kFp4Blocks.of_eights.size()]} << (2 * i);
  }
  return fours;
}

// FourOfSix for 32 blocks, and which have a choice.
struct Fp4Fours {
  __m256i codes;
  uint32_t may;

  explicit Fp4Fours(__m256i six) {
    const __m128i above = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(kFp4FourAbove.data()));
    codes = _mm256_add_epi8(six, _mm256_shuffle_epi8(_mm256_broadcastsi128_si256(above),
                                                     _mm256_and_si256(six, _mm256_set1_epi8(7))));
    may = _mm256_cmpge_epu8_mask(six, _mm256_set1_epi8(kE4m3FirstNormal)) &
          _mm256_cmplt_epu8_mask(codes, _mm256_set1_epi8(kE4m3LastCode));
  }
};

// Whether parts may be beyond the tables: of values much beyond what scales can be, or of those for
// which the least of them is by half too small.
inline bool AnyBeyondParts(const Avx512::Floats& largest, __m256i six, float tensor) {
  const __m512 most = _mm512_set1_ps(kE4m3Max * 7.5F * tensor);
  return _mm256_cmpeq_epi8_mask(six, _mm256_set1_epi8(1)) != 0 ||
         (_mm512_cmp_ps_mask(largest.a, most, _CMP_GT_OQ) |
          _mm512_cmp_ps_mask(largest.b, most, _CMP_GT_OQ)) != 0;
}

inline void EncodeFp4Rows(const SimdSource& from, const SimdCoded& to) {
  const uint32_t groups = from.rows * (from.size / kGroupValues);
  if (from.type != HalfType::kBf16 || from.size % kGroupValues != 0) {
    AnyEncodeFp4<Avx512>(from, to);
    return;
  }
  // One by one, as Int4's.
  std::byte* const all_codes = to.codes;
  std::byte* const all_scales = to.scales;
  const bool careful = to.careful;
  const float tensor = to.statics[0];
  const Fp4Tables tables;
  const Fp4SignedTables signed_tables;
  for (uint32_t first = 0; first < groups; first += kFp4Groups) {
    GroupBatch batch(from, first, kFp4Groups);
    std::byte* const scales = all_scales + size_t{first} * 2;
    std::byte* codes = all_codes + size_t{first} * PackedBytes(kGroupValues);
    if (batch.count < kFp4Groups) {
      EncodeFp4Batch<Avx512, HalfType::kBf16>(batch, tensor, careful, tables, scales, codes);
      continue;
    }
    const __m512i words = LargestOfBlocks(batch);
    const Avx512::Floats largest = Avx512::OfBf16(words);
    const Fp4Scales<Avx512> six(largest, tensor);
    const __m256i six_codes = _mm256_load_si256(reinterpret_cast<const __m256i*>(six.codes));
    if (AnyBeyond(words) || AnyBeyondParts(largest, six_codes, tensor)) {
      EncodeFp4Batch<Avx512, HalfType::kBf16>(batch, tensor, careful, tables, scales, codes);
      continue;
    }
    const Fp4Fours fours(six_codes);
    uint32_t chosen = 0;
    if (careful) {
      chosen = EncodeFp4Carefully(batch, six, fours.may, signed_tables, codes);
    } else {
      for (uint32_t i = 0; i < kFp4Groups; i += 2, codes += 2 * PackedBytes(kGroupValues)) {
        const __m512i parts =
            PairBytes::Signed(Fp4Parts(batch, six, i), Fp4Parts(batch, six, i + 1));
        PairBytes::StoreNibbles(codes, signed_tables.six.Of(parts));
      }
    }
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(scales),
                        _mm256_mask_blend_epi8(chosen, six_codes, fours.codes));
  }
}

}  // namespace
}  // namespace kvcast

KVCAST_TARGET_END

#endif
