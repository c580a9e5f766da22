#include "kvcast/codec/simd_target.h"

#ifdef KVCAST_X86_KERNELS

#include <immintrin.h>

#include <cstring>

#include "kvcast/codec/paired_matrix.h"

KVCAST_AVX512_BEGIN

#include "kvcast/codec/simd_products.h"

namespace kvcast {
namespace {

struct Avx512Products {
  using Sums = __m512i;
  static constexpr uint32_t kSums = 16;

  static Sums Zero() { return _mm512_setzero_si512(); }
  static Sums Load(const int16_t* from) { return _mm512_loadu_si512(from); }
  static void Store(uint32_t* to, Sums sums) { _mm512_storeu_si512(to, sums); }
  static Sums Pair(const int16_t* from) {
    int32_t both = 0;
    std::memcpy(&both, from, sizeof(both));
    return _mm512_set1_epi32(both);
  }
  static Sums AddProducts(Sums sums, Sums factors, Sums matrix) {
    return _mm512_dpwssd_epi32(sums, factors, matrix);
  }
};

constexpr uint32_t kRowsAtOnce = 16;
constexpr uint32_t kPairsAtOnce = 512;

// 16 rows of pairs as pairs of 16 rows: then one address leads to all factors of a pair.
void TurnRows(const int16_t* in, size_t stride, uint32_t pairs, int32_t* to) {
  for (uint32_t row = 0; row < kRowsAtOnce; row += 4) {
    const int16_t* const from = in + row * stride;
    uint32_t pair = 0;
    for (; pair + 4 <= pairs; pair += 4) {
      __m128i lanes[4];
      for (uint32_t r = 0; r < 4; ++r) {
        lanes[r] =
            _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + r * stride + size_t{pair} * 2));
      }
      const __m128i a = _mm_unpacklo_epi32(lanes[0], lanes[1]);
      const __m128i b = _mm_unpacklo_epi32(lanes[2], lanes[3]);
      const __m128i c = _mm_unpackhi_epi32(lanes[0], lanes[1]);
      const __m128i d = _mm_unpackhi_epi32(lanes[2], lanes[3]);
      const __m128i turned[4] = {_mm_unpacklo_epi64(a, b), _mm_unpackhi_epi64(a, b),
                                 _mm_unpacklo_epi64(c, d), _mm_unpackhi_epi64(c, d)};
      for (uint32_t k = 0; k < 4; ++k) {
        _mm_storeu_si128(reinterpret_cast<__m128i*>(to + size_t{pair + k} * kRowsAtOnce + row),
                         turned[k]);
      }
    }
    for (; pair < pairs; ++pair) {
      for (uint32_t r = 0; r < 4; ++r) {
        std::memcpy(to + size_t{pair} * kRowsAtOnce + row + r, from + r * stride + size_t{pair} * 2,
                    sizeof(int32_t));
      }
    }
  }
}

// Some registers of columns and as many rows: each is loaded for all of the others, and sums enough
// are under way at a time that none is waited for. Asks for what is read next, one line a pair.
template <uint32_t kColumns>
inline void MultiplySquare(const MatrixProduct& product, const int32_t* turned, uint32_t row,
                           uint32_t first, const int16_t* ahead) {
  constexpr uint32_t kRows = 4;
  __m512i sums[kRows][kColumns];
  for (uint32_t r = 0; r < kRows; ++r) {
    for (uint32_t c = 0; c < kColumns; ++c) {
      sums[r][c] = _mm512_setzero_si512();
    }
  }
  constexpr size_t kLine = 2 * MatrixProduct::kLanes;
  const size_t column = product.pairs * kLine;
  const int16_t* matrix = product.matrix + size_t{first} * product.pairs * 2;
  for (uint32_t pair = 0; pair < product.pairs; ++pair) {
    _mm_prefetch(reinterpret_cast<const char*>(ahead), _MM_HINT_T0);
    ahead += kLine;
    __m512i columns[kColumns];
    for (uint32_t c = 0; c < kColumns; ++c) {
      columns[c] = _mm512_loadu_si512(matrix + c * column);
    }
    for (uint32_t r = 0; r < kRows; ++r) {
      const __m512i factors = _mm512_set1_epi32(turned[r]);
      for (uint32_t c = 0; c < kColumns; ++c) {
        sums[r][c] = _mm512_dpwssd_epi32(sums[r][c], columns[c], factors);
      }
    }
    matrix += kLine;
    turned += kRowsAtOnce;
  }
  for (uint32_t r = 0; r < kRows; ++r) {
    for (uint32_t c = 0; c < kColumns; ++c) {
      _mm512_storeu_si512(
          product.out + size_t{row + r} * product.outs + first + c * MatrixProduct::kLanes,
          sums[r][c]);
    }
  }
}

// Columns for all 16 rows: they stay in the first cache, and those after them are fetched
// meanwhile.
template <uint32_t kColumns>
inline void MultiplyColumns(const MatrixProduct& product, const int32_t* turned, uint32_t row,
                            uint32_t first) {
  const int16_t* ahead =
      product.matrix + size_t{first + kColumns * MatrixProduct::kLanes} * product.pairs * 2;
  for (uint32_t r = 0; r < kRowsAtOnce; r += 4) {
    MultiplySquare<kColumns>(product, turned + r, row + r, first, ahead);
    ahead += size_t{product.pairs} * MatrixProduct::kLanes * 2;
  }
}

}  // namespace

void Avx512Multiply(const MatrixProduct& product) {
  uint32_t row = 0;
  if (product.pairs <= kPairsAtOnce) {
    alignas(64) int32_t turned[kPairsAtOnce * kRowsAtOnce];
    for (; row + kRowsAtOnce <= product.rows; row += kRowsAtOnce) {
      TurnRows(product.in + row * product.in_stride, product.in_stride, product.pairs, turned);
      uint32_t first = 0;
      for (; first + 4 * MatrixProduct::kLanes <= product.outs;
           first += 4 * MatrixProduct::kLanes) {
        MultiplyColumns<4>(product, turned, row, first);
      }
      for (; first < product.outs; first += MatrixProduct::kLanes) {
        MultiplyColumns<1>(product, turned, row, first);
      }
    }
  }
  MatrixProduct rest = product;
  rest.in += row * product.in_stride;
  rest.out += size_t{row} * product.outs;
  rest.rows -= row;
  AnyMultiply<Avx512Products, 4>(rest);
}

}  // namespace kvcast

KVCAST_TARGET_END

#endif
