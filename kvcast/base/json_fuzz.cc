// Any bytes at all: JSON that we can write and read again, or an error with an offset within them.
// Inputs of up to 65536 bytes: deep and long lists.
#include <nlohmann/json.hpp>

#include "kvcast/base/bytes.h"
#include "kvcast/base/check.h"
#include "kvcast/base/json.h"
#include "kvcast/base/json_place.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto json = kvcast::ParseJson(text);
  if (!json.ok()) {
    KVCAST_CHECK(json.error().offset().value_or(size + 1) <= size);
    return 0;
  }
  if (json->is_object()) {
    for (const auto& member : json->items()) {
      const uint64_t place = kvcast::JsonPlace(text, {member.key()});
      KVCAST_CHECK(place < size && text[place] == '"');
    }
  }
  const auto again = kvcast::ParseJson(json->dump());
  KVCAST_CHECK(again.ok() && *again == *json);
  return 0;
}
