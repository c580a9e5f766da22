#include "kvcast/codec/simd_target.h"

#ifdef KVCAST_X86_KERNELS

#include <immintrin.h>

#include <cstring>

#include "kvcast/codec/band_rows.h"
#include "kvcast/codec/bands.h"
#include "kvcast/codec/number_format.h"
#include "kvcast/codec/number_rows.h"
#include "kvcast/codec/rans.h"
#include "kvcast/codec/symbol_table.h"

KVCAST_AVX2_BEGIN

#include "kvcast/codec/simd_byte_rows.h"

namespace kvcast {
namespace {

struct Avx2Bands {
  struct Half {
    __m256 a;
    __m256 b;
  };
  struct Ints {
    __m256i a;
    __m256i b;
  };

  static __m256i LoadInts(const void* from) {
    return _mm256_loadu_si256(static_cast<const __m256i*>(from));
  }
  static Half Load(const float* from) { return {_mm256_loadu_ps(from), _mm256_loadu_ps(from + 8)}; }
  static Half Times(const Half& x, const Half& y) {
    return {_mm256_mul_ps(x.a, y.a), _mm256_mul_ps(x.b, y.b)};
  }
  static Half Plus(const Half& x, const Half& y) {
    return {_mm256_add_ps(x.a, y.a), _mm256_add_ps(x.b, y.b)};
  }
  static Half Minus(const Half& x, const Half& y) {
    return {_mm256_sub_ps(x.a, y.a), _mm256_sub_ps(x.b, y.b)};
  }

  static Half Floats(const uint32_t* from) {
    return {_mm256_cvtepi32_ps(LoadInts(from)), _mm256_cvtepi32_ps(LoadInts(from + 8))};
  }
  static __m256 EvenOf(__m256i words) {
    return _mm256_cvtepi32_ps(_mm256_srai_epi32(_mm256_slli_epi32(words, 16), 16));
  }
  static __m256 OddOf(__m256i words) { return _mm256_cvtepi32_ps(_mm256_srai_epi32(words, 16)); }
  static Half EvenFloats(const int16_t* from) {
    return {EvenOf(LoadInts(from)), EvenOf(LoadInts(from + 16))};
  }
  static Half OddFloats(const int16_t* from) {
    return {OddOf(LoadInts(from)), OddOf(LoadInts(from + 16))};
  }

  static __m256i Words(const int8_t* from) {
    return _mm256_cvtepi8_epi16(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from)));
  }
  static Half EvenFloats(const int8_t* from) {
    return {EvenOf(Words(from)), EvenOf(Words(from + 16))};
  }
  static Half OddFloats(const int8_t* from) {
    return {OddOf(Words(from)), OddOf(Words(from + 16))};
  }

  static __m256i Joined(__m256i even, __m256i odd) { return _mm256_blend_epi16(even, odd, 0xaa); }
  static __m256i Rounded(__m256 x, float most) {
    return _mm256_cvtps_epi32(
        _mm256_max_ps(_mm256_min_ps(x, _mm256_set1_ps(most)), _mm256_set1_ps(-most)));
  }
  static Ints Rounded(const Half& x, float most) {
    return {Rounded(x.a, most), Rounded(x.b, most)};
  }
  static __m256i Number(__m256i parts, __m256i rounding, __m256i zero_below) {
    const __m256i magnitude = _mm256_abs_epi32(parts);
    const __m256i rounded = _mm256_srli_epi32(_mm256_add_epi32(magnitude, rounding), 8);
    const __m256i number = _mm256_andnot_si256(_mm256_cmpgt_epi32(zero_below, magnitude), rounded);
    return _mm256_sign_epi32(number, parts);
  }
  static Ints Number(const Ints& parts, const int32_t* rounding, const int32_t* zero_below) {
    return {Number(parts.a, LoadInts(rounding), LoadInts(zero_below)),
            Number(parts.b, LoadInts(rounding + 8), LoadInts(zero_below + 8))};
  }
  static void StoreJoined(void* to, __m256i even, __m256i odd) {
    _mm256_storeu_si256(static_cast<__m256i*>(to), Joined(even, _mm256_slli_epi32(odd, 16)));
  }
  static void StoreNumbers(int16_t* to, const Ints& even, const Ints& odd) {
    StoreJoined(to, even.a, odd.a);
    StoreJoined(to + 16, even.b, odd.b);
  }

  // Parts of a group as words in packed places. Those that are too large, or none, become -2^15.
  using Packed = Ints;
  static Packed NoPacked() { return {_mm256_setzero_si256(), _mm256_setzero_si256()}; }
  static Packed LoadPacked(const uint16_t* from) { return {LoadInts(from), LoadInts(from + 16)}; }
  static Packed PackedParts(const Half& even, const Half& odd) {
    return {_mm256_packs_epi32(_mm256_cvtps_epi32(even.a), _mm256_cvtps_epi32(odd.a)),
            _mm256_packs_epi32(_mm256_cvtps_epi32(even.b), _mm256_cvtps_epi32(odd.b))};
  }
  static __m256i SmallNumbers(__m256i parts, __m256i rounding, __m256i zero_below, __m256i& seen) {
    const __m256i magnitude = _mm256_abs_epi16(parts);
    seen = _mm256_max_epu16(seen, magnitude);
    const __m256i up = _mm256_srli_epi16(_mm256_add_epi16(magnitude, rounding), 8);
    const __m256i counts = _mm256_cmpeq_epi16(_mm256_max_epu16(magnitude, zero_below), magnitude);
    return _mm256_sign_epi16(_mm256_and_si256(up, counts), parts);
  }
  static Packed SmallNumbers(const Packed& parts, const Packed& rounding, const Packed& zero_below,
                             Packed& seen) {
    return {SmallNumbers(parts.a, rounding.a, zero_below.a, seen.a),
            SmallNumbers(parts.b, rounding.b, zero_below.b, seen.b)};
  }
  static bool AllBelow(const Packed& seen, int32_t end) {
    const __m256i most = _mm256_set1_epi16(static_cast<int16_t>(end - 1));
    const __m256i beyond = _mm256_subs_epu16(_mm256_max_epu16(seen.a, seen.b), most);
    return _mm256_testz_si256(beyond, beyond) != 0;
  }
  static void StorePackedBytes(int8_t* to, const Packed& first, const Packed& second) {
    auto* const out = reinterpret_cast<__m256i*>(to);
    _mm256_store_si256(out, _mm256_packs_epi16(first.a, second.a));
    _mm256_store_si256(out + 1, _mm256_packs_epi16(first.b, second.b));
  }
  template <HalfType kType>
  static void Separate(__m256i words, __m256& even, __m256& odd) {
    if constexpr (kType == HalfType::kBf16) {
      even = _mm256_castsi256_ps(_mm256_slli_epi32(words, 16));
      odd = _mm256_castsi256_ps(
          _mm256_and_si256(words, _mm256_set1_epi32(static_cast<int32_t>(0xffff0000))));
    } else {
      even = _mm256_cvtph_ps(Lower(_mm256_and_si256(words, _mm256_set1_epi32(0xffff))));
      odd = _mm256_cvtph_ps(Lower(_mm256_srli_epi32(words, 16)));
    }
  }
  static void PutBlock(const ByteBlock& block, const BlockRows& to) {
    const auto put = [](int8_t* row, __m128i numbers) {
      _mm_storeu_si128(reinterpret_cast<__m128i*>(row), numbers);
    };
    for (uint32_t half = 0; half < ByteBlock::kBytes; half += 32) {
      __m256i rows[16];
      for (int i = 0; i < 16; ++i) {
        rows[i] = LoadInts(block.bytes[i] + half);
      }
      Transpose(rows);
      for (uint32_t i = 0; i < 16; ++i) {
        put(to.Row(half + i), _mm256_castsi256_si128(rows[i]));
        put(to.Row(half + i + 16), _mm256_extracti128_si256(rows[i], 1));
      }
    }
  }
  // Values that are not bounded; `largest` sees twice all magnitudes.
  template <HalfType kType>
  static void LoadAny(const std::byte* from, Half& even, Half& odd, Packed& largest) {
    const Ints words = {LoadInts(from), LoadInts(from + 32)};
    largest.a = _mm256_max_epu16(largest.a, _mm256_add_epi16(words.a, words.a));
    largest.b = _mm256_max_epu16(largest.b, _mm256_add_epi16(words.b, words.b));
    Separate<kType>(words.a, even.a, odd.a);
    Separate<kType>(words.b, even.b, odd.b);
  }

  template <HalfType kType>
  static void LoadSixteen(const std::byte* from, __m256& even, __m256& odd) {
    constexpr uint16_t kLargest = kType == HalfType::kBf16 ? kBf16Largest : kHalfLargest;
    const __m256i words = LoadInts(from);
    const __m256i magnitudes =
        _mm256_min_epu16(_mm256_and_si256(words, _mm256_set1_epi16(kMagnitude)),
                         _mm256_set1_epi16(static_cast<int16_t>(kLargest)));
    const __m256i bounded = _mm256_or_si256(
        magnitudes, _mm256_and_si256(words, _mm256_set1_epi16(static_cast<int16_t>(kSignBit))));
    Separate<kType>(bounded, even, odd);
  }
  // 16 bits of each lane.
  static __m128i Lower(__m256i lanes) {
    return _mm256_castsi256_si128(
        _mm256_permute4x64_epi64(_mm256_packus_epi32(lanes, lanes), 0xd8));
  }
  template <HalfType kType>
  static void LoadValues(const std::byte* from, Half& even, Half& odd) {
    LoadSixteen<kType>(from, even.a, odd.a);
    LoadSixteen<kType>(from + 32, even.b, odd.b);
  }
  static __m256i RoundedBf16(__m256 x) {
    const __m256i bits = _mm256_castps_si256(x);
    const __m256i odd = _mm256_and_si256(_mm256_srli_epi32(bits, 16), _mm256_set1_epi32(1));
    return _mm256_add_epi32(bits, _mm256_add_epi32(odd, _mm256_set1_epi32(0x7fff)));
  }
  static __m256i RoundedHalf(__m256 x) {
    const __m256 most = _mm256_set1_ps(65504.0F);
    const __m256 within = _mm256_max_ps(_mm256_min_ps(x, most), _mm256_set1_ps(-65504.0F));
    return _mm256_cvtepu16_epi32(_mm256_cvtps_ph(within, _MM_FROUND_TO_NEAREST_INT));
  }
  template <HalfType kType>
  static void StoreSixteen(std::byte* to, __m256 even, __m256 odd) {
    const __m256i half = kType == HalfType::kBf16
                             ? Joined(_mm256_srli_epi32(RoundedBf16(even), 16), RoundedBf16(odd))
                             : Joined(RoundedHalf(even), _mm256_slli_epi32(RoundedHalf(odd), 16));
    if (reinterpret_cast<uintptr_t>(to) % sizeof(half) == 0) {
      _mm256_stream_si256(reinterpret_cast<__m256i*>(to), half);
    } else {
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), half);
    }
  }
  template <HalfType kType>
  static void StoreValues(std::byte* to, const Half& even, const Half& odd) {
    StoreSixteen<kType>(to, even.a, odd.a);
    StoreSixteen<kType>(to + 32, even.b, odd.b);
  }
};

// One bit of each of 16 numbers, where it stands in them.
__m256i PlacedBits(uint32_t mask, uint32_t bit) {
  const __m256i lane = _mm256_setr_epi16(1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096,
                                         8192, 16384, static_cast<int16_t>(0x8000));
  const __m256i all = _mm256_set1_epi16(static_cast<int16_t>(mask));
  const __m256i is_set = _mm256_cmpeq_epi16(_mm256_and_si256(all, lane), lane);
  return _mm256_and_si256(is_set, _mm256_set1_epi16(static_cast<int16_t>(1U << bit)));
}

// 32 bytes of two registers of words, saturated.
__m256i SaturatedBytes(__m256i a, __m256i b) {
  return _mm256_permute4x64_epi64(_mm256_packs_epi16(a, b), 0xd8);
}

bool Avx2WidenUppers(std::span<const uint8_t> uppers, const RawPlanes& raw, const std::byte* planes,
                     size_t first, int16_t* numbers) {
  const __m128i shift = _mm_cvtsi32_si128(raw.shift);
  const __m128i far = _mm_set1_epi8(static_cast<char>(SymbolTable::kFar));
  __m128i any_far = _mm_setzero_si128();
  size_t i = 0;
  for (; i + 16 <= uppers.size(); i += 16) {
    const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(uppers.data() + i));
    any_far = _mm_or_si128(any_far, _mm_cmpeq_epi8(bytes, far));
    __m256i number = _mm256_sll_epi16(_mm256_cvtepi8_epi16(bytes), shift);
    for (uint32_t bit = 0; bit < raw.shift; ++bit) {
      uint16_t mask = 0;
      std::memcpy(&mask, planes + bit * raw.plane_bytes + (first + i) / 8, sizeof(mask));
      number = _mm256_add_epi16(number, PlacedBits(mask, bit));
    }
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(numbers + i), number);
  }
  const bool rest =
      kScalarKernels.bands->widen_uppers(uppers.subspan(i), raw, planes, first + i, numbers + i);
  return rest || _mm_movemask_epi8(any_far) != 0;
}

void Avx2NarrowNumbers(std::span<const int16_t> numbers, const RansTable& table,
                       const RawPlanes& raw, size_t first, std::byte* planes, uint8_t* symbols) {
  const __m128i shift = _mm_cvtsi32_si128(raw.shift);
  alignas(16) uint8_t named[SymbolTable::kSymbols];
  NamesOfUppers(table, named);
  const __m256i names =
      _mm256_broadcastsi128_si256(_mm_load_si128(reinterpret_cast<const __m128i*>(named)));
  size_t i = 0;
  for (; i + 32 <= numbers.size(); i += 32) {
    const __m256i a = Avx2Bands::LoadInts(numbers.data() + i);
    const __m256i b = Avx2Bands::LoadInts(numbers.data() + i + 16);
    const __m256i uppers = SaturatedBytes(_mm256_sra_epi16(a, shift), _mm256_sra_epi16(b, shift));
    const __m256i places = _mm256_min_epu8(
        _mm256_add_epi8(uppers, _mm256_set1_epi8(static_cast<char>(SymbolTable::kNamedMax))),
        _mm256_set1_epi8(kOtherSymbol));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(symbols + i),
                        _mm256_shuffle_epi8(names, places));
    for (uint32_t bit = 0; bit < raw.shift; ++bit) {
      const __m128i up = _mm_cvtsi32_si128(static_cast<int32_t>(15 - bit));  // To where signs are.
      const __m256i signs = SaturatedBytes(_mm256_sll_epi16(a, up), _mm256_sll_epi16(b, up));
      const auto mask = static_cast<uint32_t>(_mm256_movemask_epi8(signs));
      std::memcpy(planes + bit * raw.plane_bytes + (first + i) / 8, &mask, sizeof(mask));
    }
  }
  kScalarKernels.bands->narrow_numbers(numbers.subspan(i), table, raw, first + i, planes,
                                       symbols + i);
}

// One bit of each of 32 numbers, where it stands in them.
__m256i PlacedByteBits(uint32_t mask, uint32_t bit) {
  const __m256i order =
      _mm256_setr_epi64x(0, 0x0101010101010101, 0x0202020202020202, 0x0303030303030303);
  const __m256i lane = _mm256_set1_epi64x(static_cast<int64_t>(0x8040201008040201));
  const __m256i all = _mm256_shuffle_epi8(_mm256_set1_epi32(static_cast<int32_t>(mask)), order);
  const __m256i is_set = _mm256_cmpeq_epi8(_mm256_and_si256(all, lane), lane);
  return _mm256_and_si256(is_set, _mm256_set1_epi8(static_cast<char>(1U << bit)));
}

bool Avx2WidenBytes(std::span<const uint8_t> uppers, const RawPlanes& raw, const std::byte* planes,
                    size_t first, int8_t* numbers) {
  const __m128i shift = _mm_cvtsi32_si128(raw.shift);
  const __m256i kept = _mm256_set1_epi8(static_cast<char>(0xff << raw.shift));
  const __m256i least = _mm256_set1_epi8(static_cast<char>(0x80 >> raw.shift));
  // Twice the least, less 1: what may be above the least.
  const __m256i most = _mm256_set1_epi8(static_cast<char>((0x100 >> raw.shift) - 1));
  const __m256i far = _mm256_set1_epi8(static_cast<char>(SymbolTable::kFar));
  __m256i beyond = _mm256_setzero_si256();
  size_t i = 0;
  for (; i + 32 <= uppers.size(); i += 32) {
    const __m256i upper = Avx2Bands::LoadInts(uppers.data() + i);
    beyond = _mm256_or_si256(beyond, _mm256_subs_epu8(_mm256_add_epi8(upper, least), most));
    beyond = _mm256_or_si256(beyond, _mm256_cmpeq_epi8(upper, far));
    __m256i number = _mm256_and_si256(_mm256_sll_epi16(upper, shift), kept);
    for (uint32_t bit = 0; bit < raw.shift; ++bit) {
      uint32_t mask = 0;
      std::memcpy(&mask, planes + bit * raw.plane_bytes + (first + i) / 8, sizeof(mask));
      number = _mm256_add_epi8(number, PlacedByteBits(mask, bit));
    }
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(numbers + i), number);
  }
  const bool rest =
      kScalarKernels.bytes->widen_uppers(uppers.subspan(i), raw, planes, first + i, numbers + i);
  return rest && _mm256_testz_si256(beyond, beyond) != 0;
}

void Avx2NarrowBytes(std::span<const int8_t> numbers, const RansTable& table, const RawPlanes& raw,
                     size_t first, std::byte* planes, uint8_t* symbols) {
  const __m128i shift = _mm_cvtsi32_si128(raw.shift);
  const __m256i kept = _mm256_set1_epi8(static_cast<char>(0xff >> raw.shift));
  const __m256i sign = _mm256_set1_epi8(static_cast<char>(0x80 >> raw.shift));
  alignas(16) uint8_t named[SymbolTable::kSymbols];
  NamesOfUppers(table, named);
  const __m256i names =
      _mm256_broadcastsi128_si256(_mm_load_si128(reinterpret_cast<const __m128i*>(named)));
  size_t i = 0;
  for (; i + 32 <= numbers.size(); i += 32) {
    const __m256i number = Avx2Bands::LoadInts(numbers.data() + i);
    const __m256i moved = _mm256_and_si256(_mm256_srl_epi16(number, shift), kept);
    const __m256i upper = _mm256_sub_epi8(_mm256_xor_si256(moved, sign), sign);
    const __m256i places = _mm256_min_epu8(
        _mm256_add_epi8(upper, _mm256_set1_epi8(static_cast<char>(SymbolTable::kNamedMax))),
        _mm256_set1_epi8(kOtherSymbol));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(symbols + i),
                        _mm256_shuffle_epi8(names, places));
    for (uint32_t bit = 0; bit < raw.shift; ++bit) {
      const __m128i up = _mm_cvtsi32_si128(static_cast<int32_t>(7 - bit));  // To where signs are.
      const auto mask = static_cast<uint32_t>(_mm256_movemask_epi8(_mm256_sll_epi16(number, up)));
      std::memcpy(planes + bit * raw.plane_bytes + (first + i) / 8, &mask, sizeof(mask));
    }
  }
  kScalarKernels.bytes->narrow_numbers(numbers.subspan(i), table, raw, first + i, planes,
                                       symbols + i);
}

}  // namespace

constexpr BandKernels kAvx2Bands = {
    SimdRestoreNumbers<Avx2Bands>,
    SimdRestoreSums<Avx2Bands>,
    SimdWholeValues<Avx2Bands>,
    SimdNumberValues<Avx2Bands>,
    SimdNumberSums<Avx2Bands>,
    SimdGather<int16_t>,
    SimdScatter<int16_t>,
    Avx2WidenUppers,
    Avx2NarrowNumbers,
};

constexpr ByteKernels kAvx2Bytes = {
    SimdRestoreBytes<Avx2Bands>,
    SimdNumberRows<Avx2Bands>,
    SimdGather<int8_t>,
    Avx2WidenBytes,
    Avx2NarrowBytes,
};

}  // namespace kvcast

KVCAST_TARGET_END

#endif
