// All of AVX-512's kernels, by how they round to BF16.
#pragma once

#include "kvcast/codec/simd_target.h"

#ifdef KVCAST_X86_KERNELS

#include "kvcast/codec/avx512_decoders.h"
#include "kvcast/codec/avx512_encoders.h"
#include "kvcast/codec/avx512_fp4_encoder.h"
#include "kvcast/codec/avx512_int4_encoder.h"

namespace kvcast {
namespace {

template <typename Rounding>
constexpr Kernels Avx512KernelsOf(std::string_view name) {
  return {name,
          {EncodeInt8Rows, DecodeInt8Rows<Rounding>},
          {EncodeFp8Rows, DecodeFp8Rows},
          {EncodeInt4Rows, DecodeInt4ByGroups<Avx512, Avx512Int4Group<Rounding>>},
          {EncodeFp4Rows, DecodeFp4ByGroups<Avx512, Avx512Fp4Group<Rounding>>},
          &kAvx512Coder,
          &kAvx512Bands,
          &kAvx512Bytes,
          Avx512Multiply};
}

}  // namespace
}  // namespace kvcast

#endif
