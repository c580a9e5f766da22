#include "examples/tinylm/base/json.h"

#include <nlohmann/json.hpp>
#include <string>

namespace kvcast::tinylm {

Result<Json> ParseJson(std::string_view text) {
  try {
    return Json::parse(text);
  } catch (const Json::parse_error& error) {
    return Error(ErrorCode::kMalformed, "This is no JSON.").At(error.byte);
  }
}

Result<std::optional<uint64_t>> JsonCount(const Json& object, std::string_view key) {
  const auto found = object.find(key);
  if (found == object.end() || found->is_null()) {
    return std::optional<uint64_t>();
  }
  if (!found->is_number_unsigned()) {
    return Error(ErrorCode::kMalformed, "\"" + std::string(key) + "\" must be a whole number.");
  }
  return std::optional(found->get<uint64_t>());
}

}  // namespace kvcast::tinylm
