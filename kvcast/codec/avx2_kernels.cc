#include "kvcast/codec/simd_target.h"

#ifdef KVCAST_X86_KERNELS

#include <immintrin.h>

#include <algorithm>
#include <cstring>

#include "kvcast/codec/number_format.h"
#include "kvcast/codec/scale_search.h"

KVCAST_AVX2_BEGIN

#include "kvcast/codec/simd_fp4_rows.h"

namespace kvcast {
namespace {

// 32 values in four registers of 8 floats.
struct Avx2 {
  struct Floats {
    __m256 v[4];
  };
  struct Words {
    __m256i a;
    __m256i b;
  };
  using ByteCodes = __m256i;  // One a value.

  static __m256i LoadVector(const std::byte* from) {
    return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
  }
  static Words NoWords() { return {_mm256_setzero_si256(), _mm256_setzero_si256()}; }
  static Words LoadWords(const std::byte* from) {
    return {LoadVector(from), LoadVector(from + 32)};
  }
  static __m256i Magnitudes(__m256i words) {
    return _mm256_and_si256(words, _mm256_set1_epi16(kMagnitude));
  }
  static Words LargerMagnitudes(const Words& a, const Words& b) {
    return {_mm256_max_epu16(a.a, Magnitudes(b.a)), _mm256_max_epu16(a.b, Magnitudes(b.b))};
  }
  static uint16_t LargestWord(const Words& words) {
    return LargestOf(_mm256_max_epu16(words.a, words.b));
  }
  static uint16_t LargestOf(__m256i words) {
    const __m128i half =
        _mm_max_epu16(_mm256_castsi256_si128(words), _mm256_extracti128_si256(words, 1));
    return static_cast<uint16_t>(
        ~_mm_cvtsi128_si32(_mm_minpos_epu16(_mm_xor_si128(half, _mm_set1_epi16(-1)))));
  }
  static void LargestOfHalves(const std::byte* from, uint16_t& first, uint16_t& second) {
    first = LargestOf(Magnitudes(LoadVector(from)));
    second = LargestOf(Magnitudes(LoadVector(from + 32)));
  }

  template <HalfType kType>
  static __m256i BoundedWords(const std::byte* from) {
    constexpr uint16_t kLargest = kType == HalfType::kBf16 ? kBf16Largest : kHalfLargest;
    const __m256i words = LoadVector(from);
    const __m256i magnitudes =
        _mm256_min_epu16(Magnitudes(words), _mm256_set1_epi16(static_cast<int16_t>(kLargest)));
    return _mm256_or_si256(
        magnitudes, _mm256_and_si256(words, _mm256_set1_epi16(static_cast<int16_t>(kSignBit))));
  }
  template <HalfType kType>
  static __m256 Widened(__m128i words) {
    if constexpr (kType == HalfType::kFp16) {
      return _mm256_cvtph_ps(words);
    } else {
      return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(words), 16));
    }
  }
  template <HalfType kType>
  static Floats Load(const std::byte* from) {
    const __m256i a = BoundedWords<kType>(from);
    const __m256i b = BoundedWords<kType>(from + 32);
    return {{Widened<kType>(_mm256_castsi256_si128(a)),
             Widened<kType>(_mm256_extracti128_si256(a, 1)),
             Widened<kType>(_mm256_castsi256_si128(b)),
             Widened<kType>(_mm256_extracti128_si256(b, 1))}};
  }

  // Words whose order as signed numbers is that of the values.
  static __m256i Ordered(__m256i words) {
    return _mm256_xor_si256(words, Magnitudes(_mm256_srai_epi16(words, 15)));
  }
  static uint16_t Unordered(int32_t key) {
    const auto bits = static_cast<uint16_t>(key);
    return (bits & kSignBit) != 0 ? static_cast<uint16_t>(bits ^ kMagnitude) : bits;
  }
  template <HalfType kType>
  static void LowAndHigh(const std::byte* from, uint16_t& low, uint16_t& high) {
    const __m256i first = Ordered(BoundedWords<kType>(from));
    const __m256i second = Ordered(BoundedWords<kType>(from + 32));
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
    const __m256 a = _mm256_set1_ps(first);
    const __m256 b = _mm256_set1_ps(second);
    return {{_mm256_mul_ps(x.v[0], a), _mm256_mul_ps(x.v[1], a), _mm256_mul_ps(x.v[2], b),
             _mm256_mul_ps(x.v[3], b)}};
  }
  static Floats Plus(const Floats& x, float y) {
    const __m256 a = _mm256_set1_ps(y);
    return {{_mm256_add_ps(x.v[0], a), _mm256_add_ps(x.v[1], a), _mm256_add_ps(x.v[2], a),
             _mm256_add_ps(x.v[3], a)}};
  }

  static Floats Minus(const Floats& x, const Floats& y) {
    Floats out;
    for (size_t i = 0; i < 4; ++i) {
      out.v[i] = _mm256_sub_ps(x.v[i], y.v[i]);
    }
    return out;
  }
  static Floats Times(const Floats& x, const Floats& y) {
    return {{_mm256_mul_ps(x.v[0], y.v[0]), _mm256_mul_ps(x.v[1], y.v[1]),
             _mm256_mul_ps(x.v[2], y.v[2]), _mm256_mul_ps(x.v[3], y.v[3])}};
  }
  static Floats Over(const Floats& x, const Floats& y) {
    return {{_mm256_div_ps(x.v[0], y.v[0]), _mm256_div_ps(x.v[1], y.v[1]),
             _mm256_div_ps(x.v[2], y.v[2]), _mm256_div_ps(x.v[3], y.v[3])}};
  }
  static Floats LoadFloats(const float* from) {
    return {{_mm256_loadu_ps(from), _mm256_loadu_ps(from + 8), _mm256_loadu_ps(from + 16),
             _mm256_loadu_ps(from + 24)}};
  }
  static void StoreFloats(float* to, const Floats& x) {
    for (size_t i = 0; i < 4; ++i) {
      _mm256_storeu_ps(to + 8 * i, x.v[i]);
    }
  }
  static Floats SmallAsZero(const Floats& x) {
    Floats out;
    for (size_t i = 0; i < 4; ++i) {
      const __m256 large = _mm256_cmp_ps(Absolute(x.v[i]), _mm256_set1_ps(kSpanMin), _CMP_GE_OQ);
      out.v[i] = _mm256_and_ps(large, x.v[i]);
    }
    return out;
  }
  static void StoreInversesOrZeros(float* to, const Floats& x) {
    for (size_t i = 0; i < 4; ++i) {
      const __m256 any = _mm256_cmp_ps(x.v[i], _mm256_setzero_ps(), _CMP_NEQ_OQ);
      const __m256 inverse = _mm256_div_ps(_mm256_set1_ps(1.0F), x.v[i]);
      _mm256_storeu_ps(to + 8 * i, _mm256_and_ps(any, inverse));
    }
  }

  static __m256i RoundedToBf16(__m256 x) {
    const __m256i bits = _mm256_castps_si256(x);
    const __m256i odd = _mm256_and_si256(_mm256_srli_epi32(bits, 16), _mm256_set1_epi32(1));
    const __m256i up = _mm256_add_epi32(odd, _mm256_set1_epi32(0x7fff));
    return _mm256_srli_epi32(_mm256_add_epi32(bits, up), 16);
  }
  static __m128i RoundedToHalf(__m256 x) {
    const __m256 most = _mm256_set1_ps(65504.0F);
    const __m256 within = _mm256_max_ps(_mm256_min_ps(x, most), _mm256_set1_ps(-65504.0F));
    return _mm256_cvtps_ph(within, _MM_FROUND_TO_NEAREST_INT);
  }
  // Past the caches: pages are far larger, and a line that is not read first costs half as much.
  // The caller has a fence behind it.
  static void StoreHalfLine(std::byte* to, __m256i half) {
    if (reinterpret_cast<uintptr_t>(to) % sizeof(half) == 0) {
      _mm256_stream_si256(reinterpret_cast<__m256i*>(to), half);
    } else {
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), half);
    }
  }
  template <HalfType kType>
  static void Store(std::byte* to, const Floats& x) {
    for (size_t i = 0; i < 2; ++i) {
      const __m256 a = x.v[2 * i];
      const __m256 b = x.v[2 * i + 1];
      std::byte* const half = to + i * sizeof(__m256i);
      if constexpr (kType == HalfType::kFp16) {
        StoreHalfLine(half, Joined(RoundedToHalf(a), RoundedToHalf(b)));
      } else {
        const __m256i mixed = _mm256_packus_epi32(RoundedToBf16(a), RoundedToBf16(b));
        StoreHalfLine(half, _mm256_permute4x64_epi64(mixed, 0xd8));
      }
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
  // What the two packings by 128 bits put out of order.
  static __m256i InOrder(__m256i packed) {
    return _mm256_permutevar8x32_epi32(packed, _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7));
  }
  static ByteCodes ToInt8(const Floats& x) {
    const __m256i a = _mm256_packs_epi32(_mm256_cvtps_epi32(x.v[0]), _mm256_cvtps_epi32(x.v[1]));
    const __m256i b = _mm256_packs_epi32(_mm256_cvtps_epi32(x.v[2]), _mm256_cvtps_epi32(x.v[3]));
    return InOrder(_mm256_packs_epi16(a, b));
  }
  static ByteCodes ToNibbles(const Floats& x) {
    const __m256i most = _mm256_min_epi8(ToInt8(x), _mm256_set1_epi8(15));
    return _mm256_max_epi8(most, _mm256_setzero_si256());
  }
  // Rounded, none below 0 or above 255.
  static ByteCodes ToSteps(const Floats& x) {
    const __m256i a = _mm256_packs_epi32(_mm256_cvtps_epi32(x.v[0]), _mm256_cvtps_epi32(x.v[1]));
    const __m256i b = _mm256_packs_epi32(_mm256_cvtps_epi32(x.v[2]), _mm256_cvtps_epi32(x.v[3]));
    return InOrder(_mm256_packus_epi16(a, b));
  }
  // Towards 0, none beyond the last part.
  static __m256i PartLanes(__m256 x) {
    const __m256 most = _mm256_set1_ps(static_cast<float>(kFp4PartsMax));
    const __m256 least = _mm256_set1_ps(-static_cast<float>(kFp4PartsMax));
    return _mm256_cvttps_epi32(_mm256_max_ps(_mm256_min_ps(x, most), least));
  }
  static ByteCodes ToParts(const Floats& x) {
    const __m256i a = _mm256_packs_epi32(PartLanes(x.v[0]), PartLanes(x.v[1]));
    const __m256i b = _mm256_packs_epi32(PartLanes(x.v[2]), PartLanes(x.v[3]));
    return InOrder(_mm256_packs_epi16(a, b));
  }
  static __m256 Absolute(__m256 x) {
    return _mm256_and_ps(x, _mm256_castsi256_ps(_mm256_set1_epi32(0x7fffffff)));
  }
  static __m256i SignAsBit7(__m256 x) {
    return _mm256_and_si256(_mm256_srli_epi32(_mm256_castps_si256(x), 24), _mm256_set1_epi32(0x80));
  }
  static __m256i E4m3Lanes(__m256 x) {
    const __m256 magnitude = _mm256_min_ps(Absolute(x), _mm256_set1_ps(kE4m3Max));
    const __m256i wide = _mm256_castps_si256(magnitude);
    const __m256i odd = _mm256_and_si256(_mm256_srli_epi32(wide, 20), _mm256_set1_epi32(1));
    const __m256i up = _mm256_add_epi32(odd, _mm256_set1_epi32(0x7ffff - (120 << 23)));
    const __m256i normal = _mm256_srli_epi32(_mm256_add_epi32(wide, up), 20);
    const __m256i small = _mm256_cvtps_epi32(_mm256_mul_ps(magnitude, _mm256_set1_ps(0x1p9F)));
    const __m256 is_small = _mm256_cmp_ps(magnitude, _mm256_set1_ps(0x1p-6F), _CMP_LT_OQ);
    return _mm256_or_si256(_mm256_blendv_epi8(normal, small, _mm256_castps_si256(is_small)),
                           SignAsBit7(x));
  }
  static ByteCodes LanesToBytes(__m256i a, __m256i b, __m256i c, __m256i d) {
    return InOrder(_mm256_packus_epi16(_mm256_packus_epi32(a, b), _mm256_packus_epi32(c, d)));
  }
  static ByteCodes ToE4m3(const Floats& x) {
    return LanesToBytes(E4m3Lanes(x.v[0]), E4m3Lanes(x.v[1]), E4m3Lanes(x.v[2]), E4m3Lanes(x.v[3]));
  }

  static __m128i LoadBytes(const std::byte* from) {
    return _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
  }
  static __m256 Int8Floats(__m128i bytes) {
    return _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(bytes));
  }
  static Floats FromInt8(const std::byte* from) {
    const __m128i a = LoadBytes(from);
    const __m128i b = LoadBytes(from + 16);
    return {{Int8Floats(a), Int8Floats(_mm_srli_si128(a, 8)), Int8Floats(b),
             Int8Floats(_mm_srli_si128(b, 8))}};
  }
  static Floats FromNibbles(const std::byte* from) {
    const __m128i both = LoadBytes(from);
    const __m128i lower = _mm_and_si128(both, _mm_set1_epi8(15));
    const __m128i upper = _mm_and_si128(_mm_srli_epi16(both, 4), _mm_set1_epi8(15));
    return {{Int8Floats(lower), Int8Floats(_mm_srli_si128(lower, 8)), Int8Floats(upper),
             Int8Floats(_mm_srli_si128(upper, 8))}};
  }
  static __m256i E4m3Halves(__m128i bytes) {
    const __m256i wide = _mm256_cvtepu8_epi16(bytes);
    const __m256i sign = _mm256_and_si256(_mm256_slli_epi16(wide, 8),
                                          _mm256_set1_epi16(static_cast<int16_t>(kSignBit)));
    return _mm256_or_si256(sign,
                           _mm256_and_si256(_mm256_slli_epi16(wide, 7), _mm256_set1_epi16(0x3f80)));
  }
  static Floats FromE4m3AsHalf(const std::byte* from) {
    const __m256i a = E4m3Halves(LoadBytes(from));
    const __m256i b = E4m3Halves(LoadBytes(from + 16));
    return {{_mm256_cvtph_ps(_mm256_castsi256_si128(a)),
             _mm256_cvtph_ps(_mm256_extracti128_si256(a, 1)),
             _mm256_cvtph_ps(_mm256_castsi256_si128(b)),
             _mm256_cvtph_ps(_mm256_extracti128_si256(b, 1))}};
  }
  static __m256 E2m1Floats(__m128i codes) {
    const __m256 table = _mm256_setr_ps(0.0F, 0.5F, 1.0F, 1.5F, 2.0F, 3.0F, 4.0F, 6.0F);
    const __m256i lanes = _mm256_cvtepu8_epi32(codes);
    const __m256i sign =
        _mm256_and_si256(_mm256_slli_epi32(lanes, 28), _mm256_set1_epi32(INT32_MIN));
    return _mm256_or_ps(_mm256_permutevar8x32_ps(table, lanes), _mm256_castsi256_ps(sign));
  }
  static Floats FromE2m1(const std::byte* from) {
    const __m128i lower = LoadBytes(from);  // A lane's higher bits do not matter.
    const __m128i upper = _mm_and_si128(_mm_srli_epi16(lower, 4), _mm_set1_epi8(15));
    return {{E2m1Floats(lower), E2m1Floats(_mm_srli_si128(lower, 8)), E2m1Floats(upper),
             E2m1Floats(_mm_srli_si128(upper, 8))}};
  }
};

// The values of 16 codes, their lower bytes in one half and their upper ones in the other: bytes
// are looked up by fours of bits.
struct Avx2Table {
  __m256i bytes;

  // Of 16 floats as BF16.
  Avx2Table(__m256 first, __m256 second) {
    const __m256i words =
        _mm256_packus_epi32(Avx2::RoundedToBf16(first), Avx2::RoundedToBf16(second));
    const __m256i low = _mm256_and_si256(words, _mm256_set1_epi16(0xff));
    bytes = Avx2::InOrder(_mm256_packus_epi16(low, _mm256_srli_epi16(words, 8)));
  }
  // A group by the codes of its two halves, and what its upper bytes have besides.
  void StoreGroup(__m128i lower, __m128i upper, __m256i signs, std::byte* to) const {
    const __m256i first = _mm256_shuffle_epi8(bytes, _mm256_broadcastsi128_si256(lower));
    const __m256i second = _mm256_shuffle_epi8(bytes, _mm256_broadcastsi128_si256(upper));
    const __m256i low = _mm256_permute2x128_si256(first, second, 0x20);
    const __m256i high = _mm256_or_si256(_mm256_permute2x128_si256(first, second, 0x31), signs);
    const __m256i a = _mm256_unpacklo_epi8(low, high);
    const __m256i b = _mm256_unpackhi_epi8(low, high);
    Avx2::StoreHalfLine(to, _mm256_permute2x128_si256(a, b, 0x20));
    Avx2::StoreHalfLine(to + sizeof(a), _mm256_permute2x128_si256(a, b, 0x31));
  }
};

struct Avx2Int4Group {
  static void Store(float scale, float low, const std::byte* packed, std::byte* to) {
    const __m256 by = _mm256_set1_ps(scale);
    const __m256 above = _mm256_set1_ps(low);
    const __m256 first = _mm256_setr_ps(0, 1, 2, 3, 4, 5, 6, 7);
    const __m256 second = _mm256_setr_ps(8, 9, 10, 11, 12, 13, 14, 15);
    const Avx2Table table(_mm256_add_ps(_mm256_mul_ps(first, by), above),
                          _mm256_add_ps(_mm256_mul_ps(second, by), above));
    const __m128i both = Avx2::LoadBytes(packed);
    table.StoreGroup(_mm_and_si128(both, _mm_set1_epi8(15)),
                     _mm_and_si128(_mm_srli_epi16(both, 4), _mm_set1_epi8(15)),
                     _mm256_setzero_si256(), to);
  }
};

// Magnitudes of both blocks stand side by side; signs are the codes' own.
struct Avx2Fp4Group {
  static void Store(const float* two, const std::byte* packed, std::byte* to) {
    const __m256 codes = _mm256_setr_ps(0.0F, 0.5F, 1.0F, 1.5F, 2.0F, 3.0F, 4.0F, 6.0F);
    const Avx2Table table(_mm256_mul_ps(codes, _mm256_set1_ps(two[0])),
                          _mm256_mul_ps(codes, _mm256_set1_ps(two[1])));
    const __m128i both = Avx2::LoadBytes(packed);
    const __m128i upper = _mm_srli_epi16(both, 4);
    const __m128i magnitude = _mm_set1_epi8(7);
    const __m256i signs = Avx2::Joined(_mm_slli_epi16(both, 4), both);
    table.StoreGroup(_mm_and_si128(both, magnitude),
                     _mm_or_si128(_mm_and_si128(upper, magnitude), _mm_set1_epi8(8)),
                     _mm256_and_si256(signs, _mm256_set1_epi8(static_cast<char>(0x80))), to);
  }
};

void Avx2JoinBf16(const uint8_t* exponents, const std::byte* low, uint32_t count, std::byte* to) {
  uint32_t i = 0;
  for (; i + 16 <= count; i += 16) {
    const __m256i rest = _mm256_cvtepu8_epi16(Avx2::LoadBytes(low + i));
    const __m256i middle = _mm256_slli_epi16(
        _mm256_cvtepu8_epi16(_mm_loadu_si128(reinterpret_cast<const __m128i*>(exponents + i))), 7);
    const __m256i sign = _mm256_and_si256(_mm256_slli_epi16(rest, 8),
                                          _mm256_set1_epi16(static_cast<int16_t>(kSignBit)));
    const __m256i mantissa = _mm256_and_si256(rest, _mm256_set1_epi16(127));
    Avx2::StoreHalfLine(to + i * kPageValueBytes,
                        _mm256_or_si256(_mm256_or_si256(sign, mantissa), middle));
  }
  kScalarKernels.coder->join_bf16(exponents + i, low + i, count - i, to + i * kPageValueBytes);
}

constexpr CoderKernels kAvx2Coder = {
    Avx2ReadValues, Avx2WriteSymbols, ScalarNameValues, Avx2JoinBf16, Avx2SplitBf16,
};

}  // namespace

constexpr Kernels kAvx2Kernels = {
    "AVX2",
    {AnyEncodeInt8<Avx2>, AnyDecodeInt8<Avx2>},
    {AnyEncodeFp8<Avx2>, AnyDecodeFp8<Avx2>},
    {AnyEncodeInt4<Avx2>, DecodeInt4ByGroups<Avx2, Avx2Int4Group>},
    {AnyEncodeFp4<Avx2>, DecodeFp4ByGroups<Avx2, Avx2Fp4Group>},
    &kAvx2Coder,
    &kAvx2Bands,
    &kAvx2Bytes,
    Avx2Multiply,
};

}  // namespace kvcast

KVCAST_TARGET_END

#endif
