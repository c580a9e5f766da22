#pragma once

#include <string>
#include <vector>

#include "kvcast/base/result.h"
#include "kvcast/host/node_config.h"
#include "kvcast/host/upstream_link.h"

namespace kvcast {

// An upstream as it is typed.
inline constexpr char kUpstreamPlace[] = "[PREFIX=]HOST:PORT[#FINGERPRINT]";
inline constexpr char kUpstreamGrammar[] =
    "[PREFIX=]HOST:PORT[#FINGERPRINT][,hears=true|false][,forgets=true|false]";
struct UpstreamFlag {
  TrackNamespace prefix;  // Without fields: everything.
  std::string place;      // As NodeAddress takes it.
  bool hears = true;
  bool forgets = true;

  // Invalid: the prefix is no namespace, or a word is none of these.
  static Result<UpstreamFlag> Of(const TierConfig& typed);
};

// By which a node is told whom to ask for what it does not have, and how to be sure of
// them.
struct UpstreamFlags {
  std::vector<TierConfig> upstreams;  // The preferred ones first.
  std::string authorities;
  std::string certificate;
  std::string key;
  std::string token_file{};

  // Those with the same address are one, with several prefixes. Invalid: one cannot be read, or two
  // of the same address are to be treated differently.
  Result<std::vector<UpstreamLink::Options>> Options() const;
};

}  // namespace kvcast
