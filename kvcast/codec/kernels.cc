#include "kvcast/codec/kernels.h"

#include "kvcast/codec/number_format.h"
#include "kvcast/codec/simd_kernels.h"

#ifdef KVCAST_X86_KERNELS
#include <cpuid.h>
#endif

namespace kvcast {
#ifdef KVCAST_X86_KERNELS
namespace {

// clang 14 does not know it by name.
bool HasF16c() {
  uint32_t a = 0;
  uint32_t b = 0;
  uint32_t c = 0;
  uint32_t d = 0;
  return __get_cpuid(1, &a, &b, &c, &d) != 0 && (c & bit_F16C) != 0;
}

}  // namespace
#endif

Fp8Table Fp8Table::Of(float scale, HalfType pages) {
  Fp8Table table{};
  for (uint32_t code = 0; code < kMagnitudes; ++code) {
    const uint16_t bits = FromFloat(pages, E4m3ToFloat(static_cast<uint8_t>(code)) * scale);
    table.low[code] = static_cast<uint8_t>(bits);
    table.high[code] = static_cast<uint8_t>(bits >> 8);
  }
  constexpr uint32_t kMantissaBits = 7;
  const float inverse = 1.0F / scale;
  const auto code_of = [&](uint32_t exponent, uint32_t mantissa) {
    const uint32_t bits = exponent << kMantissaBits | mantissa;
    return FloatToE4m3(Bf16ToFloat(static_cast<uint16_t>(bits)) * inverse);
  };
  uint32_t exponent = 1;
  while (code_of(exponent, 0) < kE4m3FirstNormal) {
    ++exponent;
  }
  table.first_exponent = static_cast<uint8_t>(++exponent);  // The first may have been rounded up.
  for (uint32_t mantissa = 0; mantissa < kMagnitudes; ++mantissa) {
    table.codes[mantissa] = code_of(exponent, mantissa);
  }
  return table;
}

std::span<const Kernels* const> UsableKernels() {
#ifdef KVCAST_X86_KERNELS
  static constexpr const Kernels* kAll[] = {&kScalarKernels, &kAvx2Kernels, &kAvx512Kernels,
                                            &kAvx512Bf16Kernels};
  const bool avx2 = __builtin_cpu_supports("avx2") && HasF16c();
  const bool avx512 = avx2 && __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("avx512f") &&
                      __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
                      __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512vbmi") &&
                      __builtin_cpu_supports("avx512vbmi2") && __builtin_cpu_supports("avx512vnni");
  const bool bf16 = avx512 && __builtin_cpu_supports("avx512bf16");
  return std::span(kAll).first(bf16 ? 4 : avx512 ? 3 : avx2 ? 2 : 1);
#else
  static constexpr const Kernels* kAll[] = {&kScalarKernels};
  return kAll;
#endif
}

const Kernels& ScalarKernels() { return kScalarKernels; }
const Kernels& BestKernels() { return *UsableKernels().back(); }

}  // namespace kvcast
