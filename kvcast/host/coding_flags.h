#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <optional>
#include <string>

#include "kvcast/base/result.h"
#include "kvcast/host/cache_blocks.h"
#include "kvcast/kv/rung.h"

namespace kvcast {

// The options that encode, decode, rungs and calibrate have in common.
struct CodingFlags {
  std::string model;        // Empty where it is not asked for.
  std::string calibration;  // Empty: none.
  uint64_t block_tokens = 128;
  bool json = false;

  // Each adds one; `flags` must outlive the command.
  static CLI::Option* AddModelTo(CLI::App& command, CodingFlags& flags);
  static void AddCalibrationTo(CLI::App& command, CodingFlags& flags, const std::string& what);
  static void AddBlockTokensTo(CLI::App& command, CodingFlags& flags);

  // The cache in a file, of the model if one is said.
  Result<CacheBlocks> Open(const std::string& file) const;
  // Absent where none is said.
  Result<std::optional<Calibration>> ReadCalibrationSaid() const;
};

// The rung of a name. Invalid: there is none of this name, or it is not built.
Result<Rung> BuiltRungOf(const std::string& name);
// Says what is wrong with a name, for an option's check; empty if nothing is.
std::string RungProblem(const std::string& name);
// Those that caches of a type can be encoded at, the largest first. `calibrated`: with a
// calibration that has AC and KTC in it.
std::vector<Rung> RungsFor(HalfType type, bool calibrated);

}  // namespace kvcast
