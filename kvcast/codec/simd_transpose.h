// Rows of numbers by component as rows by token, and back, for every instruction set that has AVX2.
// Included inside a target region.
#pragma once

#include <immintrin.h>

#include "kvcast/codec/number_rows.h"
#include "kvcast/codec/simd_target.h"

namespace kvcast {
namespace {

// Tokens at a time: as many as half a register has numbers, of twice as many components.
template <typename Number>
inline constexpr uint32_t kTransposed = sizeof(__m128i) / sizeof(Number);

template <typename Number>
inline __m256i TwoRows(const Number* first, const Number* second) {
  return _mm256_inserti128_si256(
      _mm256_castsi128_si256(_mm_loadu_si128(reinterpret_cast<const __m128i*>(first))),
      _mm_loadu_si128(reinterpret_cast<const __m128i*>(second)), 1);
}

// 8 rows of 8, in both halves of the registers.
inline void Transpose(__m256i (&rows)[8]) {
  __m256i pairs[8];
  __m256i fours[8];
  for (int i = 0; i < 4; ++i) {
    pairs[2 * i] = _mm256_unpacklo_epi16(rows[2 * i], rows[2 * i + 1]);
    pairs[2 * i + 1] = _mm256_unpackhi_epi16(rows[2 * i], rows[2 * i + 1]);
  }
  for (int i = 0; i < 2; ++i) {
    fours[4 * i] = _mm256_unpacklo_epi32(pairs[4 * i], pairs[4 * i + 2]);
    fours[4 * i + 1] = _mm256_unpackhi_epi32(pairs[4 * i], pairs[4 * i + 2]);
    fours[4 * i + 2] = _mm256_unpacklo_epi32(pairs[4 * i + 1], pairs[4 * i + 3]);
    fours[4 * i + 3] = _mm256_unpackhi_epi32(pairs[4 * i + 1], pairs[4 * i + 3]);
  }
  for (int i = 0; i < 4; ++i) {
    rows[2 * i] = _mm256_unpacklo_epi64(fours[i], fours[i + 4]);
    rows[2 * i + 1] = _mm256_unpackhi_epi64(fours[i], fours[i + 4]);
  }
}

// 16 rows of 16, in both halves of the registers. Each step takes rows that lie half of all apart.
inline void Transpose(__m256i (&rows)[16]) {
  __m256i other[16];
  for (int i = 0; i < 8; ++i) {
    other[2 * i] = _mm256_unpacklo_epi8(rows[i], rows[i + 8]);
    other[2 * i + 1] = _mm256_unpackhi_epi8(rows[i], rows[i + 8]);
  }
  for (int i = 0; i < 8; ++i) {
    rows[2 * i] = _mm256_unpacklo_epi8(other[i], other[i + 8]);
    rows[2 * i + 1] = _mm256_unpackhi_epi8(other[i], other[i + 8]);
  }
  for (int i = 0; i < 8; ++i) {
    other[2 * i] = _mm256_unpacklo_epi8(rows[i], rows[i + 8]);
    other[2 * i + 1] = _mm256_unpackhi_epi8(rows[i], rows[i + 8]);
  }
  for (int i = 0; i < 8; ++i) {
    rows[2 * i] = _mm256_unpacklo_epi8(other[i], other[i + 8]);
    rows[2 * i + 1] = _mm256_unpackhi_epi8(other[i], other[i + 8]);
  }
}

template <typename Number>
void SimdGather(const NumberRows<const Number>& rows, uint32_t count, uint32_t tokens, Number* to,
                size_t stride) {
  constexpr uint32_t kTokens = kTransposed<Number>;
  for (uint32_t i = 0; i < count; i += 2 * kTokens) {
    for (uint32_t token = 0; token < tokens; token += kTokens) {
      __m256i lanes[kTokens];
      for (uint32_t k = 0; k < kTokens; ++k) {
        lanes[k] = TwoRows(rows[i + k] + token, rows[i + k + kTokens] + token);
      }
      Transpose(lanes);
      for (uint32_t k = 0; k < kTokens && token + k < tokens; ++k) {
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(to + (token + k) * stride + i), lanes[k]);
      }
    }
  }
}

template <typename Number>
void SimdScatter(const Number* from, size_t stride, uint32_t count, uint32_t tokens,
                 const NumberRows<Number>& rows) {
  constexpr uint32_t kTokens = kTransposed<Number>;
  const uint32_t whole = tokens / kTokens * kTokens;
  for (uint32_t i = 0; i < count; i += 2 * kTokens) {
    for (uint32_t token = 0; token < whole; token += kTokens) {
      __m256i lanes[kTokens];
      for (uint32_t k = 0; k < kTokens; ++k) {
        lanes[k] =
            _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from + (token + k) * stride + i));
      }
      Transpose(lanes);
      for (uint32_t k = 0; k < kTokens; ++k) {
        _mm_storeu_si128(reinterpret_cast<__m128i*>(rows[i + k] + token),
                         _mm256_castsi256_si128(lanes[k]));
        _mm_storeu_si128(reinterpret_cast<__m128i*>(rows[i + k + kTokens] + token),
                         _mm256_extracti128_si256(lanes[k], 1));
      }
    }
    for (uint32_t token = whole; token < tokens; ++token) {
      for (uint32_t k = 0; k < 2 * kTokens; ++k) {
        rows[i + k][token] = from[token * stride + i + k];
      }
    }
  }
}

}  // namespace
}  // namespace kvcast
