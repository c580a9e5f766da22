#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "kvcast/base/digest.h"
#include "kvcast/object/track_name.h"
#include "kvcast/relay/forget_scope.h"
#include "kvcast/relay/grant.h"

namespace kvcast::relay {

// Names of tenants' caches, for tests.
inline std::string PrefixNamed(std::string_view name) {
  const Digest digest = Sha256::Of(name);
  return {reinterpret_cast<const char*>(digest.bytes.data()), digest.bytes.size()};
}
inline TrackName CacheOf(std::string_view scope, std::string_view prefix) {
  return *TrackName::Of(
      *TrackNamespace::Of({kServiceField, scope, PrefixNamed(prefix), "generation"}), "BF16");
}
inline ForgetScope TenantOnly(std::string tenant) {
  return {std::move(tenant), std::nullopt, std::nullopt, {}};
}

}  // namespace kvcast::relay
