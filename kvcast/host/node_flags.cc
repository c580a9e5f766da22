#include "kvcast/host/node_flags.h"

namespace kvcast {

CLI::Option* NodeFlags::AddTo(CLI::App& command, NodeFlags& flags) {
  CLI::Option* const node =
      command
          .add_option("--node", flags.node,
                      "The node, as HOST:PORT#FINGERPRINT, which is what 'kvcast serve' prints; or "
                      "HOST:PORT if an authority has signed its certificate")
          ->type_name("NODE");
  command
      .add_option("--node-ca", flags.authorities,
                  "The authorities to trust with a node's certificate, in a PEM file")
      ->type_name("FILE")
      ->needs(node)
      ->default_str("those this machine trusts");
  return node;
}

}  // namespace kvcast
