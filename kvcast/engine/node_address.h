#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kvcast/base/result.h"
#include "kvcast/io/quic_credentials.h"
#include "kvcast/io/quic_options.h"
#include "kvcast/io/socket_address.h"

namespace kvcast {

// Where a node is, and how to tell that it is the right one.
//
//   HOST:PORT#FINGERPRINT   its certificate has this SHA-256, 64 hex digits: as `kvcast serve` says
//   HOST:PORT               its certificate is signed, for HOST, by an authority that is trusted
struct NodeAddress {
  std::string host_and_port;
  ServerTrust trust;
  std::optional<CertificateFiles> own = {};  // To show to a node that asks who we are.
  std::vector<SocketAddress> places = {};    // None: those that the host's name has.
  QuicOptions quic = {};
  std::string token = {};  // To send to a node that knows its clients by tokens; never logged.

  // `authorities` is a PEM file with those to trust; empty for those that this machine trusts.
  // Invalid: neither form, or a fingerprint together with authorities.
  static Result<NodeAddress> Parse(std::string_view text, const std::string& authorities = {});
};

// Where they are, for people.
std::string NamesOf(std::span<const NodeAddress> addresses);

}  // namespace kvcast
