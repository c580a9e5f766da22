#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "kvcast/base/result.h"
#include "kvcast/engine/model_folder.h"

namespace kvcast {

// The options by which a command is told which model it is about.
struct ModelFlags {
  std::string folder;
  std::string name;
  std::string adapter;
  std::string kv_dtype;
  uint64_t block_tokens = kBlockTokensDefault;

  // Adds them to a command; `flags` must outlive it. Returns --model, without which only
  // --block-tokens says anything: the others are then a usage error.
  static CLI::Option* AddTo(CLI::App& command, ModelFlags& flags);
  // Invalid: the model has no name that a scope could have. Cheap, so ask before a model is hashed.
  Result<void> CheckName() const;
  Result<ModelFolder> Load() const;
};

}  // namespace kvcast
