#include "kvcast/host/node_flags.h"

#include <utility>

namespace kvcast {
namespace {

CLI::Option* Add(CLI::App& command, NodeFlags& flags, const std::string& several) {
  CLI::Option* const node =
      command
          .add_option("--node", flags.nodes,
                      "The node, as HOST:PORT#FINGERPRINT, which is what 'kvcast serve' prints; or "
                      "HOST:PORT if an authority has signed its certificate" +
                          several)
          ->type_name("NODE");
  TrustFlags::AddTo(command, flags.trust, "--node-ca", node);
  QuicFlags::AddTo(command, flags.quic);
  return node;
}

}  // namespace

CLI::Option* NodeFlags::AddTo(CLI::App& command, NodeFlags& flags) {
  return Add(command, flags, "")->expected(1)->allow_extra_args(false);
}

CLI::Option* NodeFlags::AddSeveralTo(CLI::App& command, NodeFlags& flags) {
  return Add(command, flags, ". Said several times, the next one is asked where one is not there")
      ->allow_extra_args(false);
}

Result<NodeAddress> NodeFlags::Address() const {
  KVCAST_TRY(std::vector<NodeAddress> addresses, Addresses());
  return std::move(addresses.front());
}

Result<std::vector<NodeAddress>> NodeFlags::Addresses() const {
  std::vector<NodeAddress> addresses;
  for (const std::string& node : nodes) {
    KVCAST_TRY(NodeAddress address, NodeAddress::Parse(node, trust.authorities));
    KVCAST_TRY(address.trust, trust.Applied(std::move(address.trust)));
    address.own = trust.own();
    KVCAST_TRY(address.token, trust.Token());
    address.quic = quic.Options();
    addresses.push_back(std::move(address));
  }
  return addresses;
}

}  // namespace kvcast
