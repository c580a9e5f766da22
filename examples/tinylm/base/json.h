#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>  // Whoever looks into a value includes <nlohmann/json.hpp>.
#include <optional>
#include <string_view>

#include "examples/tinylm/base/result.h"

namespace kvcast::tinylm {

using Json = nlohmann::json;

Result<Json> ParseJson(std::string_view text);

// `object[key]` as a whole number. Absent or null is absent; anything else is malformed. REQUIRES:
// an object.
Result<std::optional<uint64_t>> JsonCount(const Json& object, std::string_view key);

}  // namespace kvcast::tinylm
