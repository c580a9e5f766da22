#pragma once

#include <string>
#include <vector>

#include "kvcast/relay/relay_world_test.h"

namespace kvcast::relay {

inline TrackName LimitedTrack(std::string_view name) {
  return *TrackName::Of(*TrackNamespace::Of({kServiceField, "acme/model@0", name, "g"}), "BF16");
}
// Two tokens for one tenant: two identities.
inline RelayWorld::Options Identified() {
  RelayWorld::Options options;
  options.relay.access.required = true;
  for (const std::string name : {"one", "two"}) {
    options.relay.access.tokens.Add(
        Sha256::Of(name),
        {name, *Grant::Of(std::vector<std::string>{"acme"}, std::vector<std::string>{"engine"})});
  }
  options.relay.access.tokens.Add(
      Sha256::Of("relay"),
      {"relay", *Grant::Of(std::vector<std::string>{"acme"}, std::vector<std::string>{"relay"})});
  return options;
}

}  // namespace kvcast::relay
