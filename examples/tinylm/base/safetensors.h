#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "examples/tinylm/base/result.h"

namespace kvcast::tinylm {

// One tensor of a file, and its bytes there.
struct Tensor {
  std::string dtype;
  std::vector<uint64_t> shape;
  std::span<const std::byte> data;
};

// The tensors of a safetensors file by their names, where they lie in `file`:
//
//   file := header_length:u64 header:json data                     little-endian
//
// Malformed: one that lies outside of the data, or does not have the bytes of its shape, if it is
// BF16.
Result<std::map<std::string, Tensor>> ParseSafetensors(std::span<const std::byte> file);

}  // namespace kvcast::tinylm
