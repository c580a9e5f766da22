#include "kvcast/codec/simd_target.h"

#ifdef KVCAST_X86_KERNELS

#include <immintrin.h>

#include <cstring>

#include "kvcast/codec/number_format.h"
#include "kvcast/codec/rans.h"

KVCAST_AVX2_BEGIN

#include "kvcast/codec/simd_rans.h"

namespace kvcast {
namespace {

// For each mask of 8 lanes, as bytes: where each finds its byte, if only those of the mask read
// one; and which lanes write theirs, the last of them last. Bytes with the highest bit set are 0.
struct MaskedBytes {
  uint64_t to_read[256] = {};
  uint64_t to_write[256] = {};

  constexpr MaskedBytes() {
    for (uint32_t mask = 0; mask < 256; ++mask) {
      uint64_t next = 0;
      uint64_t written = 0x8080808080808080;
      for (uint32_t lane = 0; lane < 8; ++lane) {
        const bool is_in = (mask >> lane & 1U) != 0;
        to_read[mask] |= (is_in ? next++ : uint64_t{0x80}) << (8 * lane);
        written = is_in ? written >> 8 | uint64_t{lane} << 56 : written;
      }
      to_write[mask] = written;
    }
  }
};
constexpr MaskedBytes kMaskedBytes;

struct Avx2Lanes {
  struct Bytes {
    __m256i a;
    __m256i b;
  };
  using Words = Bytes;
  using Lookup = __m256i;

  static __m256i Load(const void* from) {
    return _mm256_loadu_si256(static_cast<const __m256i*>(from));
  }
  static void Store(void* to, __m256i lanes) {
    _mm256_storeu_si256(static_cast<__m256i*>(to), lanes);
  }
  static Bytes LoadBytes(const uint8_t* from) { return {Load(from), Load(from + 32)}; }
  static void StoreBytes(uint8_t* to, const Bytes& bytes) {
    Store(to, bytes.a);
    Store(to + 32, bytes.b);
  }
  static Words LoadWords(const uint16_t* from) { return {Load(from), Load(from + 16)}; }
  static void StoreWords(uint16_t* to, const Words& words) {
    Store(to, words.a);
    Store(to + 16, words.b);
  }

  static Lookup LookupOf(const uint8_t* bytes) {
    return _mm256_broadcastsi128_si256(_mm_load_si128(reinterpret_cast<const __m128i*>(bytes)));
  }
  static Bytes LookUp(Lookup table, const Bytes& symbols) {
    return {_mm256_shuffle_epi8(table, symbols.a), _mm256_shuffle_epi8(table, symbols.b)};
  }
  static uint64_t MaskOf(const Bytes& bytes) {
    const auto first = static_cast<uint32_t>(_mm256_movemask_epi8(bytes.a));
    return first | uint64_t{static_cast<uint32_t>(_mm256_movemask_epi8(bytes.b))} << 32;
  }
  static uint64_t Equal(const Bytes& bytes, uint8_t value) {
    const __m256i all = _mm256_set1_epi8(static_cast<char>(value));
    return MaskOf({_mm256_cmpeq_epi8(bytes.a, all), _mm256_cmpeq_epi8(bytes.b, all)});
  }

  static __m256i Above() { return _mm256_set1_epi16(static_cast<int16_t>(0xff00)); }
  static Words Even(const Bytes& bytes) {
    return {_mm256_andnot_si256(Above(), bytes.a), _mm256_andnot_si256(Above(), bytes.b)};
  }
  static Words Odd(const Bytes& bytes) {
    return {_mm256_srli_epi16(bytes.a, 8), _mm256_srli_epi16(bytes.b, 8)};
  }
  static Words EvenAbove(const Bytes& bytes) { return Raised8(bytes); }
  static Words OddAbove(const Bytes& bytes) {
    return {_mm256_and_si256(Above(), bytes.a), _mm256_and_si256(Above(), bytes.b)};
  }
  static Bytes JoinAbove(const Words& even, const Words& odd) {
    return OrWords(Odd(even), OddAbove(odd));
  }
  static Bytes JoinBelow(const Words& even, const Words& odd) {
    return OrWords(even, Raised8(odd));
  }

  static Bytes PlusBytes(const Bytes& x, const Bytes& y) {
    return {_mm256_add_epi8(x.a, y.a), _mm256_add_epi8(x.b, y.b)};
  }
  static Bytes MinusBytes(const Bytes& x, const Bytes& y) {
    return {_mm256_sub_epi8(x.a, y.a), _mm256_sub_epi8(x.b, y.b)};
  }
  static __m256i AtLeast(__m256i x, __m256i y) {
    return _mm256_cmpeq_epi8(_mm256_max_epu8(x, y), x);
  }
  static Bytes Carries(const Bytes& sum, const Bytes& part) {
    const __m256i one = _mm256_set1_epi8(1);
    return {_mm256_andnot_si256(AtLeast(sum.a, part.a), one),
            _mm256_andnot_si256(AtLeast(sum.b, part.b), one)};
  }
  static Words PlusWords(const Words& x, const Words& y) {
    return {_mm256_add_epi16(x.a, y.a), _mm256_add_epi16(x.b, y.b)};
  }
  static Words MinusWords(const Words& x, const Words& y) {
    return {_mm256_sub_epi16(x.a, y.a), _mm256_sub_epi16(x.b, y.b)};
  }
  static Words OrWords(const Words& x, const Words& y) {
    return {_mm256_or_si256(x.a, y.a), _mm256_or_si256(x.b, y.b)};
  }
  static Words TimesLow(const Words& x, const Words& y) {
    return {_mm256_mullo_epi16(x.a, y.a), _mm256_mullo_epi16(x.b, y.b)};
  }
  static Words TimesHigh(const Words& x, const Words& y) {
    return {_mm256_mulhi_epu16(x.a, y.a), _mm256_mulhi_epu16(x.b, y.b)};
  }
  static Words Shifted7(const Words& x) {
    return {_mm256_srli_epi16(x.a, 7), _mm256_srli_epi16(x.b, 7)};
  }
  static Words Raised8(const Words& x) {
    return {_mm256_slli_epi16(x.a, 8), _mm256_slli_epi16(x.b, 8)};
  }
  // Where `which` has its highest bits set the second, elsewhere the first.
  static Bytes Choice(const Bytes& x, const Bytes& y, const Bytes& which) {
    return {_mm256_blendv_epi8(x.a, y.a, which.a), _mm256_blendv_epi8(x.b, y.b, which.b)};
  }
  // Masks of bytes as masks of words.
  static Words EvenMask(const Bytes& mask) { return OddMask(Raised8(mask)); }
  static Words OddMask(const Bytes& mask) {
    return {_mm256_srai_epi16(mask.a, 15), _mm256_srai_epi16(mask.b, 15)};
  }
  static Bytes LaneMask(uint64_t lanes) {
    alignas(64) uint8_t mask[64];
    for (uint32_t i = 0; i < 64; ++i) {
      mask[i] = (lanes >> i & 1U) != 0 ? 0xff : 0;
    }
    return LoadBytes(mask);
  }

  static __m128i Read8(const std::byte*& from, uint64_t mask) {
    const __m128i bytes = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(from));
    const __m128i order =
        _mm_cvtsi64_si128(static_cast<int64_t>(kMaskedBytes.to_read[mask & 0xff]));
    from += __builtin_popcountll(mask & 0xff);
    return _mm_shuffle_epi8(bytes, order);
  }
  static __m256i Read32(const std::byte*& from, uint64_t mask) {
    const __m128i first = Read8(from, mask);
    const __m128i second = Read8(from, mask >> 8);
    const __m128i third = Read8(from, mask >> 16);
    const __m128i fourth = Read8(from, mask >> 24);
    return _mm256_inserti128_si256(_mm256_castsi128_si256(_mm_unpacklo_epi64(first, second)),
                                   _mm_unpacklo_epi64(third, fourth), 1);
  }
  static void Refill(Words& even, Words& odd, Bytes& low, uint64_t lanes, const std::byte*& from) {
    const Bytes top = JoinAbove(even, odd);
    const __m256i none = _mm256_setzero_si256();
    const Bytes small = {_mm256_cmpeq_epi8(top.a, none), _mm256_cmpeq_epi8(top.b, none)};
    const uint64_t mask = MaskOf(small) & lanes;
    even = Choice(even, OrWords(Raised8(even), Even(low)), EvenMask(small));
    odd = Choice(odd, OrWords(Raised8(odd), Odd(low)), OddMask(small));
    const __m256i first = Read32(from, mask);
    low = Choice(low, {first, Read32(from, mask >> 32)}, small);
  }
  static void Spill(Words& even, Words& odd, Bytes& low, const Bytes& shares, uint64_t lanes,
                    std::byte*& begin) {
    const Bytes top = JoinAbove(even, odd);
    const Bytes large = {AtLeast(top.a, shares.a), AtLeast(top.b, shares.b)};
    const uint64_t mask = MaskOf(large) & lanes;
    alignas(64) uint8_t bytes[64];
    StoreBytes(bytes, low);
    for (int part = 56; part >= 0; part -= 8) {  // Backwards: what is in front is written later.
      const uint64_t own = mask >> part & 0xff;
      const __m128i order = _mm_cvtsi64_si128(static_cast<int64_t>(kMaskedBytes.to_write[own]));
      const __m128i from = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(bytes + part));
      _mm_storel_epi64(reinterpret_cast<__m128i*>(begin - 8), _mm_shuffle_epi8(from, order));
      begin -= __builtin_popcountll(own);
    }
    const Bytes below = JoinBelow(Even(even), odd);
    even = Choice(even, Odd(even), EvenMask(large));
    odd = Choice(odd, Odd(odd), OddMask(large));
    low = Choice(low, below, large);
  }
  static void Keep(Words& even, Words& odd, Bytes& low, const Words& next_even,
                   const Words& next_odd, const Bytes& next_low, uint64_t lanes) {
    const Bytes some = LaneMask(lanes);
    even = Choice(even, next_even, EvenMask(some));
    odd = Choice(odd, next_odd, OddMask(some));
    low = Choice(low, next_low, some);
  }

  // How many symbols begin after each slot, taken from how many there are: no table in memory.
  struct Slots {
    __m256i starts[ExponentTable::kSymbols];  // Less 128, to be compared as signed.

    explicit Slots(const RansTable& table) {
      for (size_t i = 0; i < ExponentTable::kSymbols; ++i) {
        starts[i] = _mm256_set1_epi8(static_cast<char>(table.starts[i] ^ 0x80));
      }
    }
    __m256i Symbols(__m256i slots) const {
      const __m256i keys = _mm256_xor_si256(slots, _mm256_set1_epi8(static_cast<char>(0x80)));
      __m256i symbols = _mm256_set1_epi8(kOtherSymbol);
      for (size_t i = 1; i < ExponentTable::kSymbols; ++i) {
        symbols = _mm256_add_epi8(symbols, _mm256_cmpgt_epi8(starts[i], keys));
      }
      return symbols;
    }
    Bytes Symbols(const Bytes& slots) const { return {Symbols(slots.a), Symbols(slots.b)}; }
  };
};

__m256i PackedBytesOf(__m256i a, __m256i b) {
  return _mm256_permute4x64_epi64(_mm256_packus_epi16(a, b), 0xd8);
}
__m256i ExponentsOf(__m256i words) {
  return _mm256_and_si256(_mm256_srli_epi16(words, 7), _mm256_set1_epi16(0xff));
}
// Sign and mantissa.
__m256i EndsOf(__m256i words) {
  return _mm256_or_si256(_mm256_and_si256(words, _mm256_set1_epi16(127)),
                         _mm256_slli_epi16(_mm256_srli_epi16(words, 15), 7));
}

}  // namespace

bool Avx2ReadValues(RansReader& reader, const RansTable& table, std::span<uint8_t> values) {
  return SimdReadValues<Avx2Lanes>(reader, table, values);
}
void Avx2WriteSymbols(RansWriter& writer, const RansTable& table,
                      std::span<const uint8_t> symbols) {
  SimdWriteSymbols<Avx2Lanes>(writer, table, symbols);
}

void Avx2SplitBf16(const std::byte* from, uint32_t count, uint8_t* exponents, std::byte* low) {
  uint32_t i = 0;
  for (; i + kGroupValues <= count; i += kGroupValues) {
    const std::byte* const own = from + i * kPageValueBytes;
    const Avx2Lanes::Words words = {Avx2Lanes::Load(own), Avx2Lanes::Load(own + 32)};
    Avx2Lanes::Store(exponents + i, PackedBytesOf(ExponentsOf(words.a), ExponentsOf(words.b)));
    Avx2Lanes::Store(low + i, PackedBytesOf(EndsOf(words.a), EndsOf(words.b)));
  }
  kScalarKernels.coder->split_bf16(from + i * kPageValueBytes, count - i, exponents + i, low + i);
}

}  // namespace kvcast

KVCAST_TARGET_END

#endif
