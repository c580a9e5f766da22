#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "kvcast/base/result.h"
#include "kvcast/host/upstream_link.h"

namespace kvcast {

// An upstream as it is typed.
inline constexpr char kUpstreamGrammar[] = "[PREFIX=]HOST:PORT[#FINGERPRINT]";
struct UpstreamFlag {
  TrackNamespace prefix;  // Without fields: everything.
  std::string place;      // As NodeAddress takes it.

  // Invalid: the prefix is no namespace.
  static Result<UpstreamFlag> Parse(std::string_view text);
};

// By which a node is told whom to ask for what it does not have, and how to be sure of
// them.
struct UpstreamFlags {
  std::vector<std::string> upstreams;  // kUpstreamGrammar each, the preferred ones first.
  std::string authorities;
  std::string certificate;
  std::string key;
  std::string token_file{};

  // Those with the same address are one, with several prefixes. Invalid: one cannot be read.
  Result<std::vector<UpstreamLink::Options>> Options() const;
};

}  // namespace kvcast
