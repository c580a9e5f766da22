#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "kvcast/base/result.h"
#include "kvcast/kv/model_key.h"

namespace kvcast {

// How an engine runs a model, as far as that changes its KV.
struct ModelOptions {
  std::optional<std::filesystem::path> adapter;  // A LoRA adapter's folder.
  std::string kv_dtype;                          // Empty: what the model's config.json says.
  uint64_t block_tokens = kBlockTokensDefault;
};

// A model as it lies in a folder in Hugging Face's layout: config.json, weights and tokenizer.
struct ModelFolder {
  std::string name;  // The folder's own, unless somebody knows better.
  ModelDescription description;

  // Reads the weights once to know their digest, which is then kept beside them; shows progress.
  static Result<ModelFolder> Load(const std::filesystem::path& folder, const ModelOptions& options);
  // What a folder is called: "model" for "models/model/" and for "." within it alike.
  static std::string NameOf(const std::filesystem::path& folder);
};

}  // namespace kvcast
