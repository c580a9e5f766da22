#include <memory>

#include "kvcast/host/command.h"
#include "kvcast/host/node_run.h"
#include "kvcast/host/serve_flags.h"
#include "kvcast/io/process_limits.h"

namespace kvcast {
namespace {

int RunServe(const ServeFlags& flags) {
  RaiseOpenFiles();
  const auto run = NodeRun::Prepare(flags);
  if (!run.ok()) {
    return Failed(run.error());
  }
  const Result<void> ran = (*run)->Run();
  return ran.ok() ? kExitOk : Failed(ran.error());
}

}  // namespace

void AddServeCommand(CLI::App& app, int* exit_status) {
  CLI::App* const command = app.add_subcommand(
      "serve",
      "Run a node: keep what engines publish, and serve it to others\n\n"
      "Engines publish KV caches to a node and load them from it, over QUIC. The node keeps them "
      "in memory, evicts what is least likely to be used again when there is no more room, and "
      "tells clients which blocks it holds. What memory evicts goes to a directory of the user's "
      "cache, or to those of --disk, where what publishers want to be durable goes at once; after "
      "a "
      "restart the node has all of it again. A bucket (--bucket) takes both, too, and is what "
      "survives the loss of the machine: any node that is given it finds what is there. It prints "
      "the address that clients need, with the fingerprint of its certificate.\n\n"
      "On its first start it makes a certificate for this machine alone, in the state directory. "
      "To be reached from other machines, it needs a certificate for its name: 'kvcast cert' makes "
      "one. With --client-ca, clients that show no certificate of that authority are turned away "
      "in the handshake; with --tokens, those that send no token of that file. Each is good for "
      "the tenants and the work that it names, and one of both is needed to listen on anything "
      "but loopback.\n\n"
      "With --upstream, a node asks others for what it does not have, once for all who want it, "
      "keeps what comes, and tells its clients what those have: so engines need only know the "
      "nearest node. Upstreams that cannot be reached are tried again for ever, and what is here "
      "is served meanwhile.\n\n"
      "All that flags say can be said in a file (--config), and more: 'kvcast config' prints one. "
      "Metrics, health and status are served as pages on loopback (--admin).\n\n"
      "Ctrl-C or SIGTERM stops it: it says goodbye to its peers, gives them two seconds (--drain), "
      "and exits with status 0. SIGHUP has it read file, certificates and limits again, without a "
      "connection being lost.");
  command->group(kNodeCommands);
  command->footer(
      "kvcast serve\n"
      "kvcast serve --config node.toml\n"
      "kvcast serve --listen 127.0.0.1:0 --ready-file node.address --ram 512MiB\n"
      "kvcast serve --ram 16GiB --disk /var/lib/kvcast,bytes=500GiB\n"
      "kvcast serve --disk /var/lib/kvcast --bucket "
      "s3://caches/prod,endpoint=https://s3.example.org\n"
      "kvcast serve --listen 0.0.0.0:4433 --cert node.pem --key node.key --tokens tokens.jsonl\n"
      "kvcast serve --cert node.pem --key node.key --client-ca authority.pem\n"
      "kvcast serve --upstream origin.example:4433");
  const auto flags = std::make_shared<ServeFlags>();
  ServeFlags::AddTo(*command, *flags);
  command->callback([flags, exit_status] { *exit_status = RunServe(*flags); });
}

}  // namespace kvcast
