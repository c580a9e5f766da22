#pragma once

#include <cstddef>
#include <nlohmann/json_fwd.hpp>  // Whoever looks into a value includes <nlohmann/json.hpp>.
#include <optional>
#include <string_view>

#include "kvcast/base/result.h"

namespace kvcast {

using Json = nlohmann::json;

struct JsonLimits {
  size_t bytes_max = 16 * 1024 * 1024;
  size_t depth_max = 32;
  // Objects and arrays count too. A value takes some 100 bytes once it is read, whatever it took in
  // the text.
  size_t values_max = 1'000'000;
};

// Parses JSON from a stranger: UTF-8 only, nothing after the value, bounded in bytes, depth and
// values, and no key twice in one object, since two readers could then believe two different
// things. Errors name the offset; for what is wrong with the value once it is read, see
// json_place.h.
Result<Json> ParseJson(std::string_view text, const JsonLimits& limits = {});

// `object[key]` as a whole number, however it is written (2, 2.0, 2e0). Absent or null is absent;
// anything else is malformed. REQUIRES: object.is_object().
Result<std::optional<uint64_t>> JsonCount(const Json& object, std::string_view key);

}  // namespace kvcast
