#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "kvcast/kv/prefix_chain.h"

namespace kvcast {

// The option by which a command is told of what is not a token in a prompt: images, sounds.
struct InputFlags {
  std::vector<ForeignInput> inputs;

  // Adds it to a command; `flags` must outlive it.
  static void AddTo(CLI::App& command, InputFlags& flags);
};

}  // namespace kvcast
