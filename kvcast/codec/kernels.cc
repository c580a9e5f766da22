#include "kvcast/codec/kernels.h"

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

std::span<const Kernels* const> UsableKernels() {
#ifdef KVCAST_X86_KERNELS
  static constexpr const Kernels* kAll[] = {&kScalarKernels, &kAvx2Kernels, &kAvx512Kernels};
  const bool avx2 = __builtin_cpu_supports("avx2") && HasF16c();
  const bool avx512 = avx2 && __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("avx512f") &&
                      __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
                      __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512vbmi") &&
                      __builtin_cpu_supports("avx512vbmi2") && __builtin_cpu_supports("avx512vnni");
  return std::span(kAll).first(avx512 ? 3 : avx2 ? 2 : 1);
#else
  static constexpr const Kernels* kAll[] = {&kScalarKernels};
  return kAll;
#endif
}

const Kernels& ScalarKernels() { return kScalarKernels; }
const Kernels& BestKernels() { return *UsableKernels().back(); }

}  // namespace kvcast
