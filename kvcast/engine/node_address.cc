#include "kvcast/engine/node_address.h"

#include <algorithm>
#include <cctype>

#include "kvcast/base/digest.h"
#include "kvcast/base/hex.h"
#include "kvcast/io/socket_address.h"

namespace kvcast {
namespace {

bool HasPort(std::string_view host_and_port) {
  const size_t colon = host_and_port.rfind(':');
  if (colon == std::string_view::npos || colon == 0) {
    return false;
  }
  const std::string_view port = host_and_port.substr(colon + 1);
  return !port.empty() && std::ranges::all_of(port, [](char c) { return c >= '0' && c <= '9'; });
}

}  // namespace

Result<NodeAddress> NodeAddress::Parse(std::string_view text, const std::string& authorities) {
  const size_t hash = text.find('#');
  const std::string_view place = text.substr(0, hash);
  if (!HasPort(place)) {
    return Error(ErrorCode::kInvalid, "\"" + Printable(text) +
                                          "\" does not say where a node is: write HOST:PORT, or "
                                          "HOST:PORT#FINGERPRINT as 'kvcast serve' prints it.");
  }
  if (SocketAddress::PortOf(place).value_or(0) == 0) {
    return Error(ErrorCode::kInvalid,
                 "\"" + Printable(text) + "\" has no port of a node: ports are from 1 to 65535.");
  }
  NodeAddress address{std::string(place), SystemTrust{}};
  if (hash == std::string_view::npos) {
    if (!authorities.empty()) {
      address.trust = TrustedAuthorities{authorities};
    }
    return address;
  }
  if (!authorities.empty()) {
    return Error(ErrorCode::kInvalid,
                 "A node is known by its certificate's fingerprint or by the authority that "
                 "signed it, not by both.");
  }
  Result<Digest> fingerprint = Digest::FromHex(text.substr(hash + 1));
  if (!fingerprint.ok()) {
    return Error(ErrorCode::kInvalid,
                 "What stands behind # is not a certificate's fingerprint: 64 hex digits.");
  }
  address.trust = PinnedCertificate{*fingerprint};
  return address;
}

std::string NamesOf(std::span<const NodeAddress> addresses) {
  std::string names;
  for (const NodeAddress& address : addresses) {
    names += (names.empty() ? "" : ", ") + Printable(address.host_and_port);
  }
  return names;
}

}  // namespace kvcast
