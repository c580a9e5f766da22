#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <string>

#include "kvcast/base/result.h"
#include "kvcast/kv/cache_track.h"
#include "kvcast/kv/slice.h"

namespace kvcast {

// The options by which a command is told which part of a cache is meant, and under which
// generation.
struct SliceFlags {
  std::string layers;      // "A-B"; empty: all.
  std::string heads;       // Likewise.
  std::string generation;  // 32 hex digits; empty: none is said.

  // Adds them to a command; `flags` must outlive it. `generation` says what that is for.
  static void AddTo(CLI::App& command, SliceFlags& flags, const std::string& generation);
  // REQUIRES, of both: flags that a command has taken.
  Slice ToSlice() const;
  std::optional<Generation> ToGeneration() const;
};

}  // namespace kvcast
