#include "kvcast/host/relay_uri.h"

#include <algorithm>

#include "kvcast/base/hex.h"
#include "kvcast/io/socket_address.h"

namespace kvcast {
namespace {

constexpr std::string_view kScheme = "moqt://";
constexpr size_t kBytesMax = 8192;  // What MoQT allows a URI.

Error NoRelay(std::string_view text) {
  return {ErrorCode::kInvalid, "\"" + Printable(text, 200) +
                                   "\" does not say where a relay is: write "
                                   "moqt://HOST:PORT/PATH, or HOST:PORT#FINGERPRINT as 'kvcast "
                                   "serve' prints it."};
}

// What follows the host, with its colon; empty if there is no port.
std::string_view PortPart(std::string_view authority) {
  const size_t bracket = authority.rfind(']');
  const size_t colon = authority.rfind(':');
  return colon == std::string_view::npos || (bracket != std::string_view::npos && colon < bracket)
             ? std::string_view()
             : authority.substr(colon);
}

bool IsVisible(char c) { return c > ' ' && c < 0x7f; }

}  // namespace

Result<RelayUri> RelayUri::Parse(std::string_view text) {
  if (text.size() > kBytesMax || !std::ranges::all_of(text, IsVisible)) {
    return NoRelay(text);
  }
  std::string_view rest = text;
  const size_t scheme = text.find("://");
  if (scheme != std::string_view::npos && !text.starts_with(kScheme)) {
    return Error(ErrorCode::kUnsupported,
                 "'" + std::string(text.substr(0, scheme + 3)) +
                     "' is not supported: kvcast speaks MoQT over raw QUIC, moqt://HOST:PORT/PATH, "
                     "and not over WebTransport.");
  }
  const bool has_scheme = scheme != std::string_view::npos;
  rest.remove_prefix(has_scheme ? kScheme.size() : 0);
  RelayUri uri;
  if (const size_t hash = rest.find('#'); hash != std::string_view::npos) {
    Result<Digest> fingerprint = Digest::FromHex(rest.substr(hash + 1));
    if (!fingerprint.ok()) {
      return Error(ErrorCode::kInvalid,
                   "What stands behind # is not a certificate's fingerprint: 64 hex digits.");
    }
    uri.fingerprint = *fingerprint;
    rest = rest.substr(0, hash);
  }
  const size_t end = rest.find_first_of("/?");
  uri.authority = rest.substr(0, end);
  uri.path = end == std::string_view::npos ? "" : std::string(rest.substr(end));
  const std::string_view port = PortPart(uri.authority);
  const std::string host = SocketAddress::HostOf(uri.authority);
  if (uri.authority.size() == port.size() || host.empty() || (!has_scheme && port.empty()) ||
      uri.authority.find('@') != std::string::npos) {
    return NoRelay(text);
  }
  uri.host_and_port = port.empty() ? uri.authority + ":443" : uri.authority;
  if (SocketAddress::PortOf(uri.host_and_port).value_or(0) == 0) {
    return NoRelay(text);
  }
  return uri;
}

}  // namespace kvcast
