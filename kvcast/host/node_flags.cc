#include "kvcast/host/node_flags.h"

namespace kvcast {

CLI::Option* NodeFlags::AddTo(CLI::App& command, NodeFlags& flags) {
  CLI::Option* const node =
      command
          .add_option("--node", flags.node,
                      "The node, as HOST:PORT#FINGERPRINT, which is what 'kvcast serve' prints; or "
                      "HOST:PORT if an authority has signed its certificate")
          ->type_name("NODE");
  TrustFlags::AddTo(command, flags.trust, "--node-ca", node);
  QuicFlags::AddTo(command, flags.quic);
  return node;
}

Result<NodeAddress> NodeFlags::Address() const {
  KVCAST_TRY(NodeAddress address, NodeAddress::Parse(node, trust.authorities));
  KVCAST_TRY(address.trust, trust.Applied(std::move(address.trust)));
  address.own = trust.own();
  KVCAST_TRY(address.token, trust.Token());
  address.quic = quic.Options();
  return address;
}

}  // namespace kvcast
