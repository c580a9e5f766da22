#pragma once

#include "kvcast/codec/kernels.h"

#if defined(__x86_64__)
#define KVCAST_X86_KERNELS 1
#endif

namespace kvcast {

extern const Kernels kScalarKernels;
extern const BandKernels kScalarBands;
extern const ByteKernels kScalarBytes;
bool ScalarReadValues(RansReader& reader, const RansTable& table, std::span<uint8_t> values);
void ScalarWriteSymbols(RansWriter& writer, const RansTable& table,
                        std::span<const uint8_t> symbols);
void ScalarNameValues(const RansTable& table, std::span<const uint8_t> values, uint8_t* symbols);
void ScalarSplitBf16(const std::byte* from, uint32_t count, uint8_t* exponents, std::byte* low);
#ifdef KVCAST_X86_KERNELS
extern const Kernels kAvx2Kernels;        // AVX2 and F16C.
extern const Kernels kAvx512Kernels;      // AVX-512 F, BW, DQ, VL, VBMI, VBMI2 and VNNI; BMI2.
extern const Kernels kAvx512Bf16Kernels;  // And BF16.

// Parts of them that have sources of their own.
extern const CoderKernels kAvx512Coder;
extern const BandKernels kAvx2Bands;
extern const BandKernels kAvx512Bands;
extern const ByteKernels kAvx2Bytes;
extern const ByteKernels kAvx512Bytes;
void Avx2Multiply(const MatrixProduct& product);
void Avx512Multiply(const MatrixProduct& product);
bool Avx2ReadValues(RansReader& reader, const RansTable& table, std::span<uint8_t> values);
void Avx2WriteSymbols(RansWriter& writer, const RansTable& table, std::span<const uint8_t> symbols);
void Avx2SplitBf16(const std::byte* from, uint32_t count, uint8_t* exponents, std::byte* low);
#endif

}  // namespace kvcast
