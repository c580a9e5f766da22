// FP4's codes by where values lie in parts of their scales. Included inside a target region, as
// simd_rows.h is.
#pragma once

#include <immintrin.h>

#include <array>

#include "kvcast/codec/scale_search.h"
#include "kvcast/codec/simd_target.h"

namespace kvcast {
namespace {

// Bytes by numbers below 64, 16 of them at a time: each table has what the one before it had wrong.
struct Fp4Table {
  using Bytes = std::array<uint8_t, kFp4Choices.size()>;
  __m256i sixteens[4];

  explicit Fp4Table(const Bytes& bytes) {
    for (size_t k = 0; k < 4; ++k) {
      sixteens[k] = _mm256_broadcastsi128_si256(
          _mm_load_si128(reinterpret_cast<const __m128i*>(bytes.data() + 16 * k)));
    }
  }
  __m256i Of(__m256i numbers) const {
    __m256i bytes = _mm256_shuffle_epi8(sixteens[0], numbers);
    for (int k = 1; k < 4; ++k) {  // What is negative gives 0.
      numbers = _mm256_sub_epi8(numbers, _mm256_set1_epi8(16));
      bytes = _mm256_xor_si256(bytes, _mm256_shuffle_epi8(sixteens[k], numbers));
    }
    return bytes;
  }
  template <typename Byte>
  static constexpr Bytes Of(const Byte& byte_of) {
    Bytes bytes{};
    for (size_t i = 0; i < bytes.size(); ++i) {
      const uint8_t before = i < 16 ? uint8_t{0} : byte_of(kFp4Choices[i - 16]);
      bytes[i] = static_cast<uint8_t>(byte_of(kFp4Choices[i]) ^ before);
    }
    return bytes;
  }
};

struct Fp4Tables {
  alignas(16) static constexpr Fp4Table::Bytes kCodes = Fp4Table::Of([](const Fp4Choice& choice) {
    return static_cast<uint8_t>(choice.six | choice.four << 4);
  });
  alignas(16) static constexpr Fp4Table::Bytes kBetter = Fp4Table::Of([](const Fp4Choice& choice) {
    return static_cast<uint8_t>(choice.better + kFp4Bias);
  });
  const Fp4Table codes{kCodes};
  const Fp4Table better{kBetter};
};

// A group of two blocks with their scales by six, as signed parts: its codes, and scales that may
// change.
inline __m256i Fp4Codes(const Fp4Tables& tables, __m256i parts, bool careful, std::byte* scales) {
  const __m256i magnitudes = _mm256_abs_epi8(parts);
  const __m256i both = tables.codes.Of(magnitudes);
  const __m256i code = _mm256_set1_epi8(15);
  __m256i codes = _mm256_and_si256(both, code);
  if (careful) {
    const __m256i sums = _mm256_sad_epu8(tables.better.Of(magnitudes), _mm256_setzero_si256());
    alignas(32) uint64_t halves[4];
    _mm256_store_si256(reinterpret_cast<__m256i*>(halves), sums);
    long long chosen[2] = {};
    for (size_t block = 0; block < 2; ++block) {
      const auto six = static_cast<uint8_t>(scales[block]);
      if (HasFour(six) &&
          halves[2 * block] + halves[2 * block + 1] > kScaleBlockValues * uint64_t{kFp4Bias}) {
        chosen[block] = -1;
        scales[block] = static_cast<std::byte>(FourOfSix(six));
      }
    }
    codes = _mm256_blendv_epi8(codes, _mm256_and_si256(_mm256_srli_epi16(both, 4), code),
                               _mm256_setr_epi64x(chosen[0], chosen[0], chosen[1], chosen[1]));
  }
  const __m256i sign = _mm256_and_si256(_mm256_srli_epi16(parts, 4), _mm256_set1_epi8(8));
  return _mm256_or_si256(codes, sign);
}

}  // namespace
}  // namespace kvcast
