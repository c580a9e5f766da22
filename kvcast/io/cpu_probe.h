#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "kvcast/base/result.h"

namespace kvcast {

// What the processors can do, as far as the kernel lets programs use it.
struct CpuFacts {
  std::string model;
  unsigned cores = 0;               // That this process may run on.
  std::optional<double> cores_max;  // What its control group grants of them.
  bool aes = false;                 // AES in hardware,
  bool vaes = false;                // several blocks at a time.
  bool sha = false;                 // SHA-256 in hardware.
  bool avx2 = false;
  bool avx512 = false;       // F and BW: the foundation, and bytes and words.
  bool avx512_vbmi = false;  // Table lookups in registers.
  bool bf16 = false;
};

// `root` is where /proc and /sys are: a test makes its own.
Result<CpuFacts> ProbeCpu(const std::filesystem::path& root = "/");

}  // namespace kvcast
