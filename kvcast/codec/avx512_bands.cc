#include "kvcast/codec/simd_target.h"

#ifdef KVCAST_X86_KERNELS

#include <immintrin.h>

#include <cstring>
#include <utility>

#include "kvcast/codec/avx512_line.h"
#include "kvcast/codec/band_rows.h"
#include "kvcast/codec/bands.h"
#include "kvcast/codec/number_format.h"
#include "kvcast/codec/number_rows.h"
#include "kvcast/codec/rans.h"
#include "kvcast/codec/symbol_table.h"

KVCAST_AVX512_BEGIN

#include "kvcast/codec/simd_byte_rows.h"

namespace kvcast {
namespace {

// Which bits ternary logic gives, by those of its operands.
constexpr int kFirstAndSecondXorThird = 0x6a;

// 16 rows of 16 in all quarters of the registers.
inline void TransposeBytes(__m512i (&rows)[16]) {
  __m512i other[16];
  for (int step = 0; step < 2; ++step) {
    for (int i = 0; i < 8; ++i) {
      other[2 * i] = _mm512_unpacklo_epi8(rows[i], rows[i + 8]);
      other[2 * i + 1] = _mm512_unpackhi_epi8(rows[i], rows[i + 8]);
    }
    for (int i = 0; i < 8; ++i) {
      rows[2 * i] = _mm512_unpacklo_epi8(other[i], other[i + 8]);
      rows[2 * i + 1] = _mm512_unpackhi_epi8(other[i], other[i + 8]);
    }
  }
}

struct Avx512Bands {
  using Half = __m512;
  using Ints = __m512i;

  static Half Load(const float* from) { return _mm512_loadu_ps(from); }
  static Half Times(Half x, Half y) { return _mm512_mul_ps(x, y); }
  static Half Plus(Half x, Half y) { return _mm512_add_ps(x, y); }
  static Half Minus(Half x, Half y) { return _mm512_sub_ps(x, y); }

  static Half Floats(const uint32_t* from) { return _mm512_cvtepi32_ps(_mm512_loadu_si512(from)); }
  static Half EvenFloats(const int16_t* from) {
    return _mm512_cvtepi32_ps(
        _mm512_srai_epi32(_mm512_slli_epi32(_mm512_loadu_si512(from), 16), 16));
  }
  static Half OddFloats(const int16_t* from) {
    return _mm512_cvtepi32_ps(_mm512_srai_epi32(_mm512_loadu_si512(from), 16));
  }

  static __m512i Words(const int8_t* from) {
    return _mm512_cvtepi8_epi16(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(from)));
  }
  static Half EvenFloats(const int8_t* from) {
    return _mm512_cvtepi32_ps(_mm512_srai_epi32(_mm512_slli_epi32(Words(from), 16), 16));
  }
  static Half OddFloats(const int8_t* from) {
    return _mm512_cvtepi32_ps(_mm512_srai_epi32(Words(from), 16));
  }

  // The even ones below, the odd ones above.
  static __m512i Joined(__m512i even, __m512i odd) {
    return _mm512_mask_blend_epi16(0xaaaaaaaa, even, odd);
  }
  static Ints Rounded(Half x, float most) {
    return _mm512_cvtps_epi32(
        _mm512_max_ps(_mm512_min_ps(x, _mm512_set1_ps(most)), _mm512_set1_ps(-most)));
  }
  static Ints Number(Ints parts, const int32_t* rounding, const int32_t* zero_below) {
    const __m512i magnitude = _mm512_abs_epi32(parts);
    const __mmask16 counts = _mm512_cmpge_epi32_mask(magnitude, _mm512_loadu_si512(zero_below));
    const __m512i number = _mm512_maskz_srli_epi32(
        counts, _mm512_add_epi32(magnitude, _mm512_loadu_si512(rounding)), 8);
    return _mm512_mask_sub_epi32(number, _mm512_movepi32_mask(parts), _mm512_setzero_si512(),
                                 number);
  }
  static void StoreNumbers(int16_t* to, Ints even, Ints odd) {
    _mm512_storeu_si512(to, Joined(even, _mm512_slli_epi32(odd, 16)));
  }

  // Parts of a group as words in packed places. Those that are too large, or none, become -2^15.
  using Packed = __m512i;
  static Packed NoPacked() { return _mm512_setzero_si512(); }
  static Packed LoadPacked(const uint16_t* from) { return _mm512_loadu_si512(from); }
  static Packed PackedParts(Half even, Half odd) {
    return _mm512_packs_epi32(_mm512_cvtps_epi32(even), _mm512_cvtps_epi32(odd));
  }
  // Rounded away from 0 by (parts + 255 - rounding) / 256 where they are below it.
  static Packed SmallNumbers(Packed parts, Packed rounding, Packed zero_below, Packed& seen) {
    const __m512i magnitude = _mm512_abs_epi16(parts);
    seen = _mm512_max_epu16(seen, magnitude);
    const __m512i sign = _mm512_srai_epi16(parts, 15);
    const __m512i up =
        _mm512_ternarylogic_epi64(sign, _mm512_set1_epi16(0xff), rounding, kFirstAndSecondXorThird);
    return _mm512_maskz_srai_epi16(_mm512_cmpge_epu16_mask(magnitude, zero_below),
                                   _mm512_add_epi16(parts, up), 8);
  }
  static bool AllBelow(Packed seen, int32_t end) {
    return _mm512_cmpge_epu16_mask(seen, _mm512_set1_epi16(static_cast<int16_t>(end))) == 0;
  }
  static void StorePackedBytes(int8_t* to, Packed first, Packed second) {
    _mm512_store_si512(to, _mm512_packs_epi16(first, second));
  }
  static void PutBlock(const ByteBlock& block, const BlockRows& to) {
    __m512i rows[16];
    for (int i = 0; i < 16; ++i) {
      rows[i] = _mm512_load_si512(block.bytes[i]);
    }
    TransposeBytes(rows);
    PutRows(rows, to, std::make_index_sequence<16>());
  }
  template <size_t... kPlace>
  static void PutRows(const __m512i (&rows)[16], const BlockRows& to,
                      std::index_sequence<kPlace...> /*places*/) {
    (PutQuarters<kPlace>(rows[kPlace], to), ...);
  }
  template <uint32_t kPlace>
  static void PutQuarters(__m512i rows, const BlockRows& to) {
    const auto put = [](int8_t* row, __m128i numbers) {
      _mm_storeu_si128(reinterpret_cast<__m128i*>(row), numbers);
    };
    put(to.Row(kPlace), _mm512_castsi512_si128(rows));
    put(to.Row(kPlace + 16), _mm512_extracti32x4_epi32(rows, 1));
    put(to.Row(kPlace + 32), _mm512_extracti32x4_epi32(rows, 2));
    put(to.Row(kPlace + 48), _mm512_extracti32x4_epi32(rows, 3));
  }
  // Values that are not bounded; `largest` sees twice all magnitudes.
  template <HalfType kType>
  static void LoadAny(const std::byte* from, Half& even, Half& odd, Packed& largest) {
    const __m512i words = _mm512_loadu_si512(from);
    largest = _mm512_max_epu16(largest, _mm512_add_epi16(words, words));
    if constexpr (kType == HalfType::kBf16) {
      even = _mm512_castsi512_ps(_mm512_slli_epi32(words, 16));
      odd = _mm512_castsi512_ps(
          _mm512_and_si512(words, _mm512_set1_epi32(static_cast<int32_t>(0xffff0000))));
    } else {
      even = _mm512_cvtph_ps(_mm512_cvtepi32_epi16(words));
      odd = _mm512_cvtph_ps(_mm512_cvtepi32_epi16(_mm512_srli_epi32(words, 16)));
    }
  }

  template <HalfType kType>
  static void LoadValues(const std::byte* from, Half& even, Half& odd) {
    constexpr uint16_t kLargest = kType == HalfType::kBf16 ? kBf16Largest : kHalfLargest;
    const __m512i words = _mm512_loadu_si512(from);
    const __m512i magnitudes =
        _mm512_min_epu16(_mm512_and_si512(words, _mm512_set1_epi16(kMagnitude)),
                         _mm512_set1_epi16(static_cast<int16_t>(kLargest)));
    const __m512i bounded = _mm512_ternarylogic_epi64(
        _mm512_set1_epi16(static_cast<int16_t>(kSignBit)), words, magnitudes, 0xca);
    if constexpr (kType == HalfType::kBf16) {
      even = _mm512_castsi512_ps(_mm512_slli_epi32(bounded, 16));
      odd = _mm512_castsi512_ps(
          _mm512_and_si512(bounded, _mm512_set1_epi32(static_cast<int32_t>(0xffff0000))));
    } else {
      even = _mm512_cvtph_ps(_mm512_cvtepi32_epi16(bounded));
      odd = _mm512_cvtph_ps(_mm512_cvtepi32_epi16(_mm512_srli_epi32(bounded, 16)));
    }
  }
  // To the nearest, ties to even; what counts is above.
  static __m512i RoundedBf16(__m512 x) {
    const __m512i bits = _mm512_castps_si512(x);
    const __mmask16 odd = _mm512_test_epi32_mask(bits, _mm512_set1_epi32(0x10000));
    const __m512i up = _mm512_add_epi32(bits, _mm512_set1_epi32(0x7fff));
    return _mm512_mask_sub_epi32(up, odd, up, _mm512_set1_epi32(-1));
  }
  static __m512i RoundedHalf(__m512 x) {
    const __m512 most = _mm512_set1_ps(65504.0F);
    const __m512 within = _mm512_max_ps(_mm512_min_ps(x, most), _mm512_set1_ps(-65504.0F));
    return _mm512_cvtepu16_epi32(
        _mm512_cvtps_ph(within, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
  }
  template <HalfType kType>
  static void StoreValues(std::byte* to, Half even, Half odd) {
    const __m512i line = kType == HalfType::kBf16
                             ? Joined(_mm512_srli_epi32(RoundedBf16(even), 16), RoundedBf16(odd))
                             : Joined(RoundedHalf(even), _mm512_slli_epi32(RoundedHalf(odd), 16));
    StoreLine(to, line);
  }
};

bool Avx512WidenUppers(std::span<const uint8_t> uppers, const RawPlanes& raw,
                       const std::byte* planes, size_t first, int16_t* numbers) {
  const __m128i shift = _mm_cvtsi32_si128(raw.shift);
  __mmask32 far = 0;
  size_t i = 0;
  for (; i + 32 <= uppers.size(); i += 32) {
    const __m256i bytes = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(uppers.data() + i));
    far |= _mm256_cmpeq_epi8_mask(bytes, _mm256_set1_epi8(static_cast<char>(SymbolTable::kFar)));
    __m512i number = _mm512_sll_epi16(_mm512_cvtepi8_epi16(bytes), shift);
    for (uint32_t bit = 0; bit < raw.shift; ++bit) {
      uint32_t mask = 0;
      std::memcpy(&mask, planes + bit * raw.plane_bytes + (first + i) / 8, sizeof(mask));
      number = _mm512_mask_add_epi16(number, mask, number,
                                     _mm512_set1_epi16(static_cast<int16_t>(1U << bit)));
    }
    _mm512_storeu_si512(numbers + i, number);
  }
  const bool rest =
      kScalarKernels.bands->widen_uppers(uppers.subspan(i), raw, planes, first + i, numbers + i);
  return rest || far != 0;
}

void Avx512NarrowNumbers(std::span<const int16_t> numbers, const RansTable& table,
                         const RawPlanes& raw, size_t first, std::byte* planes, uint8_t* symbols) {
  const __m128i shift = _mm_cvtsi32_si128(raw.shift);
  alignas(16) uint8_t named[SymbolTable::kSymbols];
  NamesOfUppers(table, named);
  const __m256i names =
      _mm256_broadcastsi128_si256(_mm_load_si128(reinterpret_cast<const __m128i*>(named)));
  size_t i = 0;
  for (; i + 32 <= numbers.size(); i += 32) {
    const __m512i number = _mm512_loadu_si512(numbers.data() + i);
    const __m256i uppers = _mm512_cvtsepi16_epi8(_mm512_sra_epi16(number, shift));
    const __m256i places = _mm256_min_epu8(
        _mm256_add_epi8(uppers, _mm256_set1_epi8(static_cast<char>(SymbolTable::kNamedMax))),
        _mm256_set1_epi8(kOtherSymbol));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(symbols + i),
                        _mm256_shuffle_epi8(names, places));
    for (uint32_t bit = 0; bit < raw.shift; ++bit) {
      const uint32_t mask =
          _mm512_test_epi16_mask(number, _mm512_set1_epi16(static_cast<int16_t>(1U << bit)));
      std::memcpy(planes + bit * raw.plane_bytes + (first + i) / 8, &mask, sizeof(mask));
    }
  }
  kScalarKernels.bands->narrow_numbers(numbers.subspan(i), table, raw, first + i, planes,
                                       symbols + i);
}

// Bytes shifted as signed numbers, by lanes of 16 bits.
struct ByteShift {
  __m128i shift;
  __m512i kept;
  __m512i sign;

  explicit ByteShift(uint8_t by)
      : shift(_mm_cvtsi32_si128(by)),
        kept(_mm512_set1_epi8(static_cast<char>(0xff >> by))),
        sign(_mm512_set1_epi8(static_cast<char>(0x80 >> by))) {}
  __m512i Down(__m512i bytes) const {
    const __m512i moved = _mm512_and_si512(_mm512_srl_epi16(bytes, shift), kept);
    return _mm512_sub_epi8(_mm512_xor_si512(moved, sign), sign);
  }
};

bool Avx512WidenBytes(std::span<const uint8_t> uppers, const RawPlanes& raw,
                      const std::byte* planes, size_t first, int8_t* numbers) {
  const __m128i shift = _mm_cvtsi32_si128(raw.shift);
  const __m512i kept = _mm512_set1_epi8(static_cast<char>(0xff << raw.shift));
  const __m512i least = _mm512_set1_epi8(static_cast<char>(0x80 >> raw.shift));
  // Twice the least, less 1: what may be above the least.
  const __m512i most = _mm512_set1_epi8(static_cast<char>((0x100 >> raw.shift) - 1));
  __mmask64 beyond = 0;
  size_t i = 0;
  for (; i + 64 <= uppers.size(); i += 64) {
    const __m512i upper = _mm512_loadu_si512(uppers.data() + i);
    beyond |= _mm512_cmpgt_epu8_mask(_mm512_add_epi8(upper, least), most);
    beyond |= _mm512_cmpeq_epi8_mask(upper, _mm512_set1_epi8(static_cast<char>(SymbolTable::kFar)));
    __m512i number = _mm512_and_si512(_mm512_sll_epi16(upper, shift), kept);
    for (uint32_t bit = 0; bit < raw.shift; ++bit) {
      uint64_t mask = 0;
      std::memcpy(&mask, planes + bit * raw.plane_bytes + (first + i) / 8, sizeof(mask));
      number = _mm512_mask_add_epi8(number, mask, number,
                                    _mm512_set1_epi8(static_cast<char>(1U << bit)));
    }
    _mm512_storeu_si512(numbers + i, number);
  }
  const bool rest =
      kScalarKernels.bytes->widen_uppers(uppers.subspan(i), raw, planes, first + i, numbers + i);
  return rest && beyond == 0;
}

void Avx512NarrowBytes(std::span<const int8_t> numbers, const RansTable& table,
                       const RawPlanes& raw, size_t first, std::byte* planes, uint8_t* symbols) {
  const ByteShift shift(raw.shift);
  alignas(16) uint8_t named[SymbolTable::kSymbols];
  NamesOfUppers(table, named);
  const __m512i names =
      _mm512_broadcast_i32x4(_mm_load_si128(reinterpret_cast<const __m128i*>(named)));
  for (size_t i = 0; i < numbers.size(); i += 64) {
    const size_t count = std::min<size_t>(64, numbers.size() - i);
    const __mmask64 some = ~uint64_t{0} >> (64 - count);
    const __m512i number = _mm512_maskz_loadu_epi8(some, numbers.data() + i);
    const __m512i places = _mm512_min_epu8(
        _mm512_add_epi8(shift.Down(number),
                        _mm512_set1_epi8(static_cast<char>(SymbolTable::kNamedMax))),
        _mm512_set1_epi8(kOtherSymbol));
    const __m512i named_by = _mm512_shuffle_epi8(names, places);
    if (count == 64) {
      _mm512_storeu_si512(symbols + i, named_by);
    } else {
      _mm512_mask_storeu_epi8(symbols + i, some, named_by);
    }
    for (uint32_t bit = 0; bit < raw.shift; ++bit) {
      const uint64_t mask =
          _mm512_test_epi8_mask(number, _mm512_set1_epi8(static_cast<char>(1U << bit)));
      std::byte* const to = planes + bit * raw.plane_bytes + (first + i) / 8;
      count == 64 ? std::memcpy(to, &mask, sizeof(mask)) : std::memcpy(to, &mask, (count + 7) / 8);
    }
  }
}

}  // namespace

constexpr BandKernels kAvx512Bands = {
    SimdRestoreNumbers<Avx512Bands>,
    SimdRestoreSums<Avx512Bands>,
    SimdWholeValues<Avx512Bands>,
    SimdNumberValues<Avx512Bands>,
    SimdNumberSums<Avx512Bands>,
    SimdGather<int16_t>,
    SimdScatter<int16_t>,
    Avx512WidenUppers,
    Avx512NarrowNumbers,
};

constexpr ByteKernels kAvx512Bytes = {
    SimdRestoreBytes<Avx512Bands>,
    SimdNumberRows<Avx512Bands>,
    SimdGather<int8_t>,
    Avx512WidenBytes,
    Avx512NarrowBytes,
};

}  // namespace kvcast

KVCAST_TARGET_END

#endif
