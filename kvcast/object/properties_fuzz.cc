// Any bytes: properties kept byte for byte, or an error within them.
#include "kvcast/base/check.h"
#include "kvcast/object/properties.h"

using kvcast::Properties;
using kvcast::PropertiesBuilder;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string input(reinterpret_cast<const char*>(data), size);
  const auto properties = Properties::Parse(input);
  if (!properties.ok()) {
    KVCAST_CHECK(properties.error().offset().value_or(size + 1) <= size);
    return 0;
  }
  KVCAST_CHECK(properties->encoded() == input);
  PropertiesBuilder builder;
  size_t looked_up = 0;
  for (const kvcast::Property& property : properties->List()) {
    KVCAST_CHECK(++looked_up > 8 || properties->Find(property.type).has_value());
    if (property.is_bytes()) {
      builder.Bytes(property.type, property.bytes);
    } else {
      builder.Number(property.type, property.number);
    }
  }
  KVCAST_CHECK(builder.Build().List() == properties->List());
  if (const auto inner = properties->Immutable()) {
    KVCAST_CHECK(!inner->Immutable().has_value());
  }
  return 0;
}
