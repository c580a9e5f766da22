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
  static Words OddAbove(const Bytes& bytes) {
    return {_mm256_and_si256(Above(), bytes.a), _mm256_and_si256(Above(), bytes.b)};
  }
  static Words EvenWords(const Bytes& upper, const Bytes& low) {
    return OrWords(Even(low), Raised8(upper));
  }
  static Words OddWords(const Bytes& upper, const Bytes& low) {
    return OrWords(Odd(low), OddAbove(upper));
  }
  static Bytes JoinAbove(const Words& even, const Words& odd) {
    return OrWords(Odd(even), OddAbove(odd));
  }
  static Bytes JoinBelow(const Words& even, const Words& odd) {
    return OrWords(Even(even), Raised8(odd));
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
  // Where what is left of a division would do for one more. Less than nothing is much.
  static void TakeOneMore(Words& quotient, Words& left, const Words& share) {
    const Words less = MinusWords(left, share);
    left = {_mm256_min_epu16(left.a, less.a), _mm256_min_epu16(left.b, less.b)};
    quotient = MinusWords(quotient,
                          {_mm256_cmpeq_epi16(left.a, less.a), _mm256_cmpeq_epi16(left.b, less.b)});
  }
  static Words Raised8(const Words& x) {
    return {_mm256_slli_epi16(x.a, 8), _mm256_slli_epi16(x.b, 8)};
  }
  // Where `which` has its highest bits set the second, elsewhere the first.
  static Bytes Choice(const Bytes& x, const Bytes& y, const Bytes& which) {
    return {_mm256_blendv_epi8(x.a, y.a, which.a), _mm256_blendv_epi8(x.b, y.b, which.b)};
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
  static void Refill(Bytes& upper, Bytes& low, uint64_t lanes, const std::byte*& from) {
    const __m256i none = _mm256_setzero_si256();
    const Bytes small = {_mm256_cmpeq_epi8(upper.a, none), _mm256_cmpeq_epi8(upper.b, none)};
    const uint64_t mask = MaskOf(small) & lanes;
    upper = Choice(upper, low, small);
    const __m256i first = Read32(from, mask);
    low = Choice(low, {first, Read32(from, mask >> 32)}, small);
  }
  static void Spill(Bytes& upper, Bytes& low, const Bytes& shares, uint64_t lanes,
                    std::byte*& begin) {
    const Bytes large = {AtLeast(upper.a, shares.a), AtLeast(upper.b, shares.b)};
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
    low = Choice(low, upper, large);
    upper = {_mm256_andnot_si256(large.a, upper.a), _mm256_andnot_si256(large.b, upper.b)};
  }
  static Bytes Kept(const Bytes& bytes, const Bytes& next, uint64_t lanes) {
    return Choice(bytes, next, LaneMask(lanes));
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
