#include "examples/tinylm/inference/kernels.h"

namespace kvcast::tinylm {

#if defined(__x86_64__)

const Kernels* Avx2Kernels() {
  const bool runs = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  return runs ? kCompiledForAvx2 : nullptr;
}

const Kernels* Avx512Kernels() {
  return __builtin_cpu_supports("avx512f") ? kCompiledForAvx512 : nullptr;
}

#else

const Kernels* Avx2Kernels() { return nullptr; }
const Kernels* Avx512Kernels() { return nullptr; }

#endif

const Kernels& BestKernels() {
  if (const Kernels* const kernels = Avx512Kernels()) {
    return *kernels;
  }
  if (const Kernels* const kernels = Avx2Kernels()) {
    return *kernels;
  }
  return PortableKernels();
}

}  // namespace kvcast::tinylm
