#include "kvcast/catalog/block_key.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "kvcast/base/bytes.h"
#include "kvcast/catalog/property_place.h"

namespace kvcast {

Properties BlockKeyProperties(const Digest& key) {
  const Properties inner = PropertiesBuilder().Bytes(kBlockKeyProperty, AsText(key.bytes)).Build();
  return PropertiesBuilder().Immutable(inner).Build();
}

Result<std::optional<Digest>> BlockKeyIn(const Properties& properties) {
  // Only where no relay may touch it: one outside would be somebody else's claim.
  const std::optional<Properties> inner = properties.Immutable();
  std::optional<Property> found;
  for (Property& property : inner ? inner->List() : std::vector<Property>()) {
    if (property.type != kBlockKeyProperty) {
      continue;
    }
    if (found) {
      return Error(ErrorCode::kMalformed, "A block has one hash; here are two.")
          .At(ImmutablePlace(properties, kBlockKeyProperty, 1));
    }
    found = std::move(property);
  }
  if (!found) {
    return std::optional<Digest>();
  }
  if (found->bytes.size() != Digest::kBytes) {
    return Error(ErrorCode::kMalformed, "A block's hash has 32 bytes; this one has " +
                                            std::to_string(found->bytes.size()) + ".")
        .At(ImmutablePlace(properties, kBlockKeyProperty, 0));
  }
  Digest key;
  std::ranges::copy(AsBytes(found->bytes), key.bytes.begin());
  return std::optional(key);
}

}  // namespace kvcast
