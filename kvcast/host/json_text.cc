#include "kvcast/host/json_text.h"

#include <nlohmann/json.hpp>

namespace kvcast {

std::string JsonText(const Json& json) {
  return json.dump(2, ' ', /*ensure_ascii=*/false, Json::error_handler_t::replace) + "\n";
}

}  // namespace kvcast
