#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kvcast/base/digest.h"
#include "kvcast/base/result.h"
#include "kvcast/codec/half_type.h"
#include "kvcast/engine/model_folder.h"
#include "kvcast/kv/block_shape.h"
#include "kvcast/kv/kv_file.h"
#include "kvcast/kv/rope.h"

namespace kvcast {

// The shape of a real model, and the name of one that nobody has: what is measured is published
// under it, and no engine will ever take it for a cache of its own.
struct BenchModel {
  ModelFolder model;
  BlockShape shape;  // Of a block.
  ValueType values;
  HalfType halves;
  std::vector<Rope> ropes;  // One for each layer.

  // `wanted` is one of Names(), in upper or lower case, or a config.json, or the folder of one.
  // `run` makes the name one that there was not before. Not found: neither. Unsupported: values
  // that no rung takes.
  static Result<BenchModel> Of(const std::string& wanted, uint64_t block_tokens, const Digest& run);
  // The models whose shapes are known here.
  static std::vector<std::string> Names();

  size_t block_bytes() const {
    return shape.values_per_token() * ValueBytes(values) * shape.tokens();
  }
};

}  // namespace kvcast
