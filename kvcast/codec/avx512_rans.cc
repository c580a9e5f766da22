#include "kvcast/codec/simd_target.h"

#ifdef KVCAST_X86_KERNELS

#include <immintrin.h>

#include <array>
#include <cstring>

#include "kvcast/codec/avx512_line.h"
#include "kvcast/codec/number_format.h"
#include "kvcast/codec/rans.h"

KVCAST_AVX512_BEGIN

#include "kvcast/codec/simd_rans.h"

namespace kvcast {
namespace {

struct Avx512Lanes {
  using Bytes = __m512i;
  using Words = __m512i;
  using Lookup = __m512i;

  static Bytes LoadBytes(const uint8_t* from) { return _mm512_loadu_si512(from); }
  static void StoreBytes(uint8_t* to, Bytes bytes) { _mm512_storeu_si512(to, bytes); }

  static Lookup LookupOf(const uint8_t* bytes) {
    return _mm512_broadcast_i32x4(_mm_load_si128(reinterpret_cast<const __m128i*>(bytes)));
  }
  static Bytes LookUp(Lookup table, Bytes symbols) { return _mm512_shuffle_epi8(table, symbols); }
  static uint64_t Equal(Bytes bytes, uint8_t value) {
    return _mm512_cmpeq_epi8_mask(bytes, _mm512_set1_epi8(static_cast<char>(value)));
  }

  static __m512i Above() { return _mm512_set1_epi16(static_cast<int16_t>(0xff00)); }
  static Words Even(Bytes bytes) { return _mm512_andnot_si512(Above(), bytes); }
  static Words Odd(Bytes bytes) { return _mm512_srli_epi16(bytes, 8); }
  static Words OddAbove(Bytes bytes) { return _mm512_and_si512(bytes, Above()); }
  // Words by their upper and lower bytes, and bytes of the words' upper or lower halves.
  static Words EvenWords(Bytes upper, Bytes low) {
    return _mm512_ternarylogic_epi64(Above(), _mm512_slli_epi16(upper, 8), low, 0xca);
  }
  static Words OddWords(Bytes upper, Bytes low) {
    return _mm512_ternarylogic_epi64(Above(), upper, _mm512_srli_epi16(low, 8), 0xca);
  }
  static Bytes JoinAbove(Words even, Words odd) {
    return _mm512_ternarylogic_epi64(Above(), odd, _mm512_srli_epi16(even, 8), 0xca);
  }
  static Bytes JoinBelow(Words even, Words odd) {
    return _mm512_ternarylogic_epi64(Above(), _mm512_slli_epi16(odd, 8), even, 0xca);
  }

  static Bytes PlusBytes(Bytes a, Bytes b) { return _mm512_add_epi8(a, b); }
  static Bytes MinusBytes(Bytes a, Bytes b) { return _mm512_sub_epi8(a, b); }
  static Words PlusWords(Words a, Words b) { return _mm512_add_epi16(a, b); }
  static Words MinusWords(Words a, Words b) { return _mm512_sub_epi16(a, b); }
  static Words TimesLow(Words a, Words b) { return _mm512_mullo_epi16(a, b); }
  static Words TimesHigh(Words a, Words b) { return _mm512_mulhi_epu16(a, b); }
  // Where what is left of a division would do for one more.
  static void TakeOneMore(Words& quotient, Words& left, Words share) {
    const __mmask32 more = _mm512_cmpge_epu16_mask(left, share);
    left = _mm512_mask_sub_epi16(left, more, left, share);
    quotient = _mm512_mask_sub_epi16(quotient, more, quotient, _mm512_set1_epi16(-1));
  }

  // States that have become too small read a byte each.
  static void Refill(Bytes& upper, Bytes& low, uint64_t lanes, const std::byte*& from) {
    const uint64_t small = _mm512_testn_epi8_mask(upper, upper) & lanes;
    upper = _mm512_mask_mov_epi8(upper, small, low);
    low = _mm512_mask_expand_epi8(low, small, _mm512_loadu_si512(from));
    from += __builtin_popcountll(small);
  }
  // States that would become too large write a byte each: all 64 bytes in front are, and those that
  // count are the last.
  static void Spill(Bytes& upper, Bytes& low, Bytes shares, uint64_t lanes, std::byte*& begin) {
    const uint64_t large = _mm512_cmpge_epu8_mask(upper, shares) & lanes;
    const auto count = __builtin_popcountll(large);
    alignas(64) static constexpr auto kNumbers = [] {
      std::array<uint8_t, kRansLanes> numbers{};
      for (size_t i = 0; i < numbers.size(); ++i) {
        numbers[i] = static_cast<uint8_t>(i);
      }
      return numbers;
    }();
    const __m512i places = _mm512_add_epi8(_mm512_load_si512(kNumbers.data()),
                                           _mm512_set1_epi8(static_cast<char>(count)));
    _mm512_storeu_si512(begin - kRansLanes,
                        _mm512_permutexvar_epi8(places, _mm512_maskz_compress_epi8(large, low)));
    begin -= count;
    low = _mm512_mask_mov_epi8(low, large, upper);
    upper = _mm512_maskz_mov_epi8(~large, upper);
  }
  // What only some lanes may have done.
  static Bytes Kept(Bytes bytes, Bytes next, uint64_t lanes) {
    return _mm512_mask_mov_epi8(bytes, lanes, next);
  }

  // Bytes by bytes, from 256 of them in registers.
  struct Slots {
    __m512i quarters[4];

    explicit Slots(const RansTable& table) : Slots(table.symbol_of_slot.data()) {}
    explicit Slots(const uint8_t* bytes)
        : quarters{_mm512_load_si512(bytes), _mm512_load_si512(bytes + 64),
                   _mm512_load_si512(bytes + 128), _mm512_load_si512(bytes + 192)} {}
    Bytes Symbols(Bytes slots) const {
      return _mm512_mask_blend_epi8(_mm512_movepi8_mask(slots),
                                    _mm512_permutex2var_epi8(quarters[0], slots, quarters[1]),
                                    _mm512_permutex2var_epi8(quarters[2], slots, quarters[3]));
    }
  };
};

}  // namespace

bool Avx512ReadValues(RansReader& reader, const RansTable& table, std::span<uint8_t> values) {
  return SimdReadValues<Avx512Lanes>(reader, table, values);
}
void Avx512WriteSymbols(RansWriter& writer, const RansTable& table,
                        std::span<const uint8_t> symbols) {
  SimdWriteSymbols<Avx512Lanes>(writer, table, symbols);
}

void Avx512NameValues(const RansTable& table, std::span<const uint8_t> values, uint8_t* symbols) {
  const Avx512Lanes::Slots names(table.symbol_of_value.data());
  size_t i = 0;
  for (; i + kRansLanes <= values.size(); i += kRansLanes) {
    _mm512_storeu_si512(symbols + i, names.Symbols(_mm512_loadu_si512(values.data() + i)));
  }
  kScalarKernels.coder->name_values(table, values.subspan(i), symbols + i);
}

void Avx512SplitBf16(const std::byte* from, uint32_t count, uint8_t* exponents, std::byte* low) {
  uint32_t i = 0;
  for (; i + kGroupValues <= count; i += kGroupValues) {
    const __m512i words = _mm512_loadu_si512(from + i * kPageValueBytes);
    const __m512i sign = _mm512_srli_epi16(words, 8);
    const __m512i ends = _mm512_ternarylogic_epi64(_mm512_set1_epi16(127), words, sign, 0xca);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(exponents + i),
                        _mm512_cvtepi16_epi8(_mm512_srli_epi16(words, 7)));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(low + i), _mm512_cvtepi16_epi8(ends));
  }
  kScalarKernels.coder->split_bf16(from + i * kPageValueBytes, count - i, exponents + i, low + i);
}

namespace {

void Avx512JoinBf16(const uint8_t* exponents, const std::byte* low, uint32_t count, std::byte* to) {
  uint32_t i = 0;
  for (; i + kGroupValues <= count; i += kGroupValues) {
    const __m512i rest =
        _mm512_cvtepu8_epi16(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(low + i)));
    const __m512i middle = _mm512_slli_epi16(
        _mm512_cvtepu8_epi16(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(exponents + i))),
        7);
    const __m512i ends = _mm512_ternarylogic_epi64(
        _mm512_set1_epi16(127), rest,
        _mm512_and_si512(_mm512_slli_epi16(rest, 8),
                         _mm512_set1_epi16(static_cast<int16_t>(kSignBit))),
        0xca);
    StoreLine(to + i * kPageValueBytes, _mm512_or_si512(ends, middle));
  }
  kScalarKernels.coder->join_bf16(exponents + i, low + i, count - i, to + i * kPageValueBytes);
}

}  // namespace

constexpr CoderKernels kAvx512Coder = {
    Avx512ReadValues, Avx512WriteSymbols, Avx512NameValues, Avx512JoinBf16, Avx512SplitBf16,
};

}  // namespace kvcast

KVCAST_TARGET_END

#endif
