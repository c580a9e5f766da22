#pragma once

#include "kvcast/codec/simd_kernels.h"

// What stands between KVCAST_AVX2_BEGIN or KVCAST_AVX512_BEGIN and KVCAST_TARGET_END is compiled
// for an instruction set beyond the program's own. By function and not by file: then nothing that a
// header defines inline can be compiled for it by accident and end up in the rest of the program.
#ifdef KVCAST_X86_KERNELS
#define KVCAST_PRAGMA(text) _Pragma(#text)
#ifdef __clang__
#define KVCAST_TARGET_BEGIN(set) \
  KVCAST_PRAGMA(clang attribute push(__attribute__((target(set))), apply_to = function))
#define KVCAST_TARGET_END _Pragma("clang attribute pop")
#else
#define KVCAST_TARGET_BEGIN(set) _Pragma("GCC push_options") KVCAST_PRAGMA(GCC target(set))
#define KVCAST_TARGET_END _Pragma("GCC pop_options")
#endif
#define KVCAST_AVX2_BEGIN KVCAST_TARGET_BEGIN("avx2,f16c,popcnt")
// Who defines KVCAST_AVX512_BF16 first has all of it compiled for those instructions, too.
#ifdef KVCAST_AVX512_BF16
#define KVCAST_AVX512_MORE ",avx512bf16"
#else
#define KVCAST_AVX512_MORE
#endif
#define KVCAST_AVX512_BEGIN                                                              \
  KVCAST_TARGET_BEGIN(                                                                   \
      "avx2,f16c,popcnt,bmi2,avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi,avx512vbmi2," \
      "avx512vnni" KVCAST_AVX512_MORE)
#endif
