#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kvcast/base/json.h"
#include "kvcast/kv/block_shape.h"
#include "kvcast/kv/model_key.h"

namespace kvcast {

// 1234567 as "1,234,567".
std::string Grouped(uint64_t number);

// Numbers that follow each other, put together: "0-4, 6".
std::string Ranges(const std::vector<uint32_t>& numbers);

// One line per kind of layer: "layers 0-5: gqa, 2 KV heads of 64, full attention".
std::vector<std::string> LayerLines(const ModelDescription& model);
// The same for what a file holds, where nothing is known of attention.
std::vector<std::string> LayerLines(std::span<const LayerShape> layers);

// For scripts: fingerprint, digests and groups.
Json ModelJson(const std::string& name, const ModelDescription& model);

}  // namespace kvcast
