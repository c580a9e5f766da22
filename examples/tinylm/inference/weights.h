#pragma once

#include <filesystem>
#include <span>
#include <string_view>
#include <vector>

#include "examples/tinylm/base/result.h"
#include "examples/tinylm/inference/aligned_floats.h"
#include "examples/tinylm/inference/config.h"
#include "examples/tinylm/inference/panels.h"

namespace kvcast::tinylm {

struct LayerWeights {
  AlignedFloats attention_norm;
  Panels query_key_value;  // Side by side.
  Panels output;
  AlignedFloats feed_forward_norm;
  Panels gate_up;  // Side by side.
  Panels down;
};

// A model's parameters in FP32, laid out for the kernels. Never changes: any number of threads may
// compute with one.
struct Weights {
  Config config;
  Panels embedding;  // A column per token; tied, so it makes the logits too.
  std::vector<LayerWeights> layers;
  AlignedFloats norm;

  // Reads config.json and model.safetensors (BF16, Hugging Face's names) in `folder`. Nothing is
  // allocated for a tensor that is not there in the shape that the configuration tells.
  static Result<Weights> Load(const std::filesystem::path& folder);
  static Result<Weights> Parse(std::string_view config_json, std::span<const std::byte> file);
};

}  // namespace kvcast::tinylm
