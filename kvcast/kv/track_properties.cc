#include "kvcast/kv/track_properties.h"

#include <utility>
#include <vector>

#include "kvcast/base/check.h"
#include "kvcast/catalog/property_place.h"
#include "kvcast/kv/cache_track.h"

namespace kvcast {
namespace {

void AddAll(const Properties& from, PropertiesBuilder& to) {
  for (const Property& property : from.List()) {
    if (property.type == property::kImmutable) {
      continue;  // The caller writes those.
    }
    property.is_bytes() ? to.Bytes(property.type, property.bytes)
                        : to.Number(property.type, property.number);
  }
}

}  // namespace

Properties WithFormat(const Properties& track, std::string_view format) {
  PropertiesBuilder inner;
  if (const std::optional<Properties> immutable = track.Immutable()) {
    KVCAST_CHECK(!immutable->Find(kFormatProperty));
    AddAll(*immutable, inner);
  }
  inner.Bytes(kFormatProperty, format);
  PropertiesBuilder outer;
  AddAll(track, outer);
  return outer.Immutable(inner.Build()).Build();
}

Result<std::optional<std::string>> FormatIn(const Properties& track) {
  const std::optional<Properties> inner = track.Immutable();
  std::optional<std::string> found;
  for (Property& property : inner ? inner->List() : std::vector<Property>()) {
    if (property.type != kFormatProperty) {
      continue;
    }
    if (found) {
      return Error(ErrorCode::kMalformed, "A track has one format; here are two.")
          .At(ImmutablePlace(track, kFormatProperty, 1));
    }
    found = std::move(property.bytes);
  }
  return found;
}

Properties ObjectProperties(const BlockHash& block, uint32_t first_token, uint32_t run_tokens) {
  return first_token == 0 ? BlockHashProperties(block) : RunProperties(first_token, run_tokens);
}

Properties RunProperties(uint32_t first_token, uint32_t run_tokens) {
  if (first_token == 0 || run_tokens == 1) {
    return {};
  }
  return PropertiesBuilder().Number(property::kPriorObjectIdGap, run_tokens - 1).Build();
}

}  // namespace kvcast
