#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <tuple>

#include "kvcast/catalog/catalog_track.h"
#include "kvcast/catalog/forget_list.h"

namespace kvcast::relay {

// What a node has to know of forgetting after a restart: what it was told to forget itself, by
// tenant, and how far it has followed the lists of others.
struct ForgetMemory {
  // Upstream, the node that wrote the list, and tenant. By upstream, since one could write in the
  // name of another's node.
  using Source = std::tuple<std::string, NodeId, std::string>;

  std::map<std::string, ForgetList> lists;
  std::map<Source, uint64_t> followed;  // Entries up to this time are gone from here for good.

  friend bool operator==(const ForgetMemory&, const ForgetMemory&) = default;
};

}  // namespace kvcast::relay
