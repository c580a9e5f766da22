#pragma once

#include "kvcast/codec/simd_target.h"

#ifdef KVCAST_X86_KERNELS

#include <immintrin.h>

#include <cstddef>
#include <cstdint>

KVCAST_AVX512_BEGIN

namespace kvcast {
namespace {

// Past the caches where it fills a line of them: pages are far larger, and a line that is not read
// first costs half as much. The caller has a fence behind it.
inline void StoreLine(std::byte* to, __m512i line) {
  if (reinterpret_cast<uintptr_t>(to) % sizeof(line) == 0) {
    _mm512_stream_si512(reinterpret_cast<__m512i*>(to), line);
  } else {
    _mm512_storeu_si512(to, line);
  }
}

}  // namespace
}  // namespace kvcast

KVCAST_TARGET_END

#endif
