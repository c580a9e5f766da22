#include "kvcast/host/upstream_flags.h"

#include <algorithm>

#include "kvcast/base/hex.h"
#include "kvcast/host/token_file.h"

namespace kvcast {

// A rendered namespace has no "=", nor has an address.
Result<UpstreamFlag> UpstreamFlag::Parse(std::string_view text) {
  const size_t equals = text.find('=');
  if (equals == std::string_view::npos) {
    return UpstreamFlag{{}, std::string(text)};
  }
  Result<TrackNamespace> prefix = TrackNamespace::Parse(text.substr(0, equals));
  if (!prefix.ok() || prefix->field_count() == 0) {
    return Error(ErrorCode::kInvalid,
                 "\"" + Printable(text.substr(0, equals)) +
                     "\" is no namespace: write its fields with \"-\" between them and \".xx\" for "
                     "bytes other than letters, digits and _, as 'kvcast moq ls' prints them.");
  }
  return UpstreamFlag{*std::move(prefix), std::string(text.substr(equals + 1))};
}

Result<std::vector<UpstreamLink::Options>> UpstreamFlags::Options() const {
  if (certificate.empty() != key.empty()) {
    return Error(ErrorCode::kInvalid,
                 "A certificate and its key go together: --upstream-cert and --upstream-key.");
  }
  std::string token;
  if (!token_file.empty()) {
    KVCAST_TRY(token, ReadToken(token_file));
  }
  std::vector<UpstreamLink::Options> all;
  std::vector<std::string> places;
  for (const std::string& text : upstreams) {
    KVCAST_TRY(const UpstreamFlag flag, UpstreamFlag::Parse(text));
    const auto known = std::ranges::find(places, flag.place);
    if (known != places.end()) {
      all.at(static_cast<size_t>(known - places.begin())).prefixes.push_back(flag.prefix);
      continue;
    }
    const bool pinned = flag.place.find('#') != std::string::npos;
    KVCAST_TRY(NodeAddress address,
               NodeAddress::Parse(flag.place, pinned ? std::string() : authorities));
    if (!certificate.empty()) {
      address.own = CertificateFiles{certificate, key};
    }
    address.token = token;
    UpstreamLink::Options options;
    options.name = address.host_and_port;
    options.address = std::move(address);
    options.prefixes = {flag.prefix};
    all.push_back(std::move(options));
    places.push_back(flag.place);
  }
  return all;
}

}  // namespace kvcast
