#include "kvcast/host/upstream_flags.h"

#include <algorithm>

#include "kvcast/base/hex.h"
#include "kvcast/host/token_file.h"

namespace kvcast {

namespace {

Error BadUpstream(const std::string& what) {
  return Error(ErrorCode::kInvalid, what + ". It is " + kUpstreamGrammar);
}

}  // namespace

// A rendered namespace has no "=", nor has an address.
Result<UpstreamFlag> UpstreamFlag::Of(const TierConfig& typed) {
  UpstreamFlag flag;
  const std::string_view text = typed.where;
  const size_t equals = text.find('=');
  flag.place = equals == std::string_view::npos ? text : text.substr(equals + 1);
  if (equals != std::string_view::npos) {
    Result<TrackNamespace> prefix = TrackNamespace::Parse(text.substr(0, equals));
    if (!prefix.ok() || prefix->field_count() == 0) {
      return Error(
          ErrorCode::kInvalid,
          "\"" + Printable(text.substr(0, equals)) +
              "\" is no namespace: write its fields with \"-\" between them and \".xx\" "
              "for bytes other than letters, digits and _, as 'kvcast moq ls' prints them.");
    }
    flag.prefix = *std::move(prefix);
  }
  for (const auto& [name, value] : typed.words) {
    bool* const said = name == "hears" ? &flag.hears : name == "forgets" ? &flag.forgets : nullptr;
    if (said == nullptr || (value != "true" && value != "false")) {
      return BadUpstream("'" + Printable(name + "=" + value) + "' says nothing");
    }
    *said = value == "true";
  }
  return flag;
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
  for (const TierConfig& typed : upstreams) {
    KVCAST_TRY(const UpstreamFlag flag, UpstreamFlag::Of(typed));
    const auto known = std::ranges::find(places, flag.place);
    if (known != places.end()) {
      UpstreamLink::Options& same = all.at(static_cast<size_t>(known - places.begin()));
      if (same.hears != flag.hears || same.forgets != flag.forgets) {
        return BadUpstream(same.name + " has two prefixes, and hears or forgets with one of them");
      }
      same.prefixes.push_back(flag.prefix);
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
    options.hears = flag.hears;
    options.forgets = flag.forgets;
    all.push_back(std::move(options));
    places.push_back(flag.place);
  }
  return all;
}

}  // namespace kvcast
