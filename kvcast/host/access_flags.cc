#include "kvcast/host/access_flags.h"

#include <fmt/format.h>

#include "kvcast/host/token_file.h"

namespace kvcast {

void AccessFlags::CheckListen(const std::string& naming, const std::string& text,
                              const SocketAddress& listen, bool requires_clients) const {
  if (listen.is_loopback() || requires_clients || !tokens.empty()) {
    return;
  }
  throw CLI::ValidationError(
      naming,
      text +
          " can be reached from other machines, and this node would let anybody publish and read "
          "there. Listen on 127.0.0.1; or give --tokens, a file that 'kvcast token new' adds to; "
          "or give --client-ca, the authority of clients with certificates of 'kvcast cert "
          "client'");
}

Result<void> AccessFlags::Apply(bool requires_clients, NodeServer::Options& node) const {
  node.relay.access.required = requires_clients || !tokens.empty();
  if (!tokens.empty()) {
    KVCAST_TRY(TokenFile file, TokenFile::Read(tokens));
    node.relay.access.tokens = std::move(file.tokens);
    node.certificates = std::move(file.certificates);
  }
  return {};
}

std::string AccessLine(bool requires_clients, const NodeServer::Options& node) {
  if (!node.relay.access.required) {
    return "";
  }
  const size_t tokens = node.relay.access.tokens.size();
  const std::string by_token = fmt::format("{} token{}", tokens, tokens == 1 ? "" : "s");
  if (!requires_clients) {
    return fmt::format("  peers   only clients with one of {} in --tokens\n", by_token);
  }
  return fmt::format(
      "  peers   only clients with a certificate of the authorities in "
      "--client-ca{}\n",
      tokens == 0 ? "" : "; " + by_token + " in --tokens");
}

}  // namespace kvcast
