#include <fmt/format.h>

#include <cstdio>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <system_error>
#include <utility>

#include "kvcast/host/command.h"
#include "kvcast/host/model_text.h"
#include "kvcast/host/node_memory.h"
#include "kvcast/host/node_server.h"
#include "kvcast/host/node_state.h"
#include "kvcast/host/payload_memory.h"
#include "kvcast/host/quic_flags.h"
#include "kvcast/host/storage_flags.h"
#include "kvcast/io/clock.h"
#include "kvcast/io/entropy.h"
#include "kvcast/io/file.h"
#include "kvcast/io/human_units.h"
#include "kvcast/io/progress.h"
#include "kvcast/io/signal_watch.h"
#include "kvcast/io/terminal_log.h"

namespace kvcast {
namespace {

// How long peers have to finish once the node is asked to stop, and then for the last packets.
constexpr Duration kGoodbye = std::chrono::seconds(2);
constexpr Duration kFarewell = std::chrono::milliseconds(200);
// And for what is on its way to a disk or a bucket.
constexpr Duration kFlush = std::chrono::seconds(10);

struct ServeOptions {
  std::string listen = "127.0.0.1:4433";
  std::string state_dir;
  std::string certificate;
  std::string key;
  std::string client_authorities;
  std::string ready_file;
  QuicFlags quic;
  StorageFlags storage;
};

// What a node runs with, once the machine has been asked for it.
struct Ground {
  NodeState state;
  ServerCredentials credentials;
  NodeServer::Options node;
  PayloadShare payloads;
};

// What the time of day was at Instant(), by which objects on disk are dated.
uint64_t EpochMicroseconds() {
  using std::chrono::duration_cast;
  using std::chrono::microseconds;
  const auto now = duration_cast<microseconds>(WallNow().time_since_epoch());
  return static_cast<uint64_t>((now - duration_cast<microseconds>(Now() - Instant())).count());
}

Result<Ground> Prepare(const ServeOptions& options) {
  KVCAST_TRY(const MemoryFacts memory, ProbeMemory());
  const Result<uint64_t> ram_bytes = NodeMemory(options.storage.ram, memory);
  if (!ram_bytes.ok()) {
    throw CLI::ValidationError("--ram", ram_bytes.error().message());
  }
  KVCAST_TRY(const SocketAddress listen, SocketAddress::Resolve(options.listen));
  const bool development = options.certificate.empty();
  if (development && !listen.is_loopback()) {
    throw CLI::ValidationError(
        "--listen", options.listen +
                        " can be reached from other machines, and the development certificate is "
                        "for this one alone. Listen on 127.0.0.1, or give --cert and --key, which "
                        "'kvcast cert' makes");
  }
  Result<std::filesystem::path> directory = options.state_dir.empty()
                                                ? NodeState::DefaultDirectory()
                                                : std::filesystem::path(options.state_dir);
  KVCAST_TRY(const std::filesystem::path state_dir, std::move(directory));
  KVCAST_TRY(NodeState state, NodeState::Open(state_dir));
  KVCAST_TRY(ServerCredentials credentials,
             development ? ServerCredentials::Development(state.directory())
                         : ServerCredentials::FromFiles({options.certificate, options.key}));
  if (!options.client_authorities.empty()) {
    KVCAST_TRY_VOID(credentials.RequireClientsOf(options.client_authorities));
  }
  NodeServer::Options node;
  node.listen = listen;
  KVCAST_TRY_VOID(options.storage.Apply(state.node_id(), *ram_bytes, node));
  node.relay.epoch_us = EpochMicroseconds();
  node.relay.node = state.node_id();
  node.quic.connection = options.quic.Options();
  FillRandom(node.relay.boot);
  FillRandom(std::as_writable_bytes(std::span(&node.relay.secret, 1)));
  return Ground{std::move(state), credentials, node,
                PayloadShare::Of(node.relay.ram_bytes, memory)};
}

// What a client is told to find the node, and to be sure of it: HOST:PORT#FINGERPRINT.
std::string AddressOf(const NodeServer& node, const ServerCredentials& credentials) {
  return node.local().ToString() + "#" + credentials.fingerprint().ToHex();
}

// How clients use what AddressOf() says: where the node listens everywhere, that names no machine.
std::string AddressAdvice(const SocketAddress& local) {
  const std::string host = SocketAddress::HostOf(local.ToString());
  if (host != "0.0.0.0" && host != "::") {
    return "Clients take this address whole; behind the # is its certificate's SHA-256.";
  }
  return fmt::format(
      "It listens on every address of this machine: clients take this one with a name or an\n"
      "          address of the machine in place of {}; behind the # is its certificate's SHA-256.",
      local.is_v6() ? "[::]" : "0.0.0.0");
}

// What a directory or a bucket holds, and of how much it may.
std::string TierLines(const NodeServer& node) {
  std::string lines;
  for (const auto& disk : node.disks()) {
    if (!disk->tier().ready()) {
      lines += fmt::format("  disk    {}: does not answer yet\n", disk->directory().string());
      continue;
    }
    lines += fmt::format("  disk    {}: {} of {}, {} objects\n", disk->directory().string(),
                         HumanBytes(disk->tier().allocated_bytes()),
                         HumanBytes(disk->options().tier.bytes_max),
                         Grouped(disk->tier().index().object_count()));
  }
  for (const auto& bucket : node.buckets()) {
    const BucketTier& tier = bucket->tier();
    lines += fmt::format("  bucket  {}: {}\n", bucket->options().where,
                         tier.ready() ? Grouped(tier.packs().packs.size()) + " packs, " +
                                            Grouped(tier.index().object_count()) + " objects"
                                      : "does not answer yet");
  }
  return lines;
}

void PrintStart(const Ground& ground, const std::string& address, const NodeServer& node,
                const std::string& payloads, bool development) {
  fmt::print(
      "kvcast is serving. Ctrl-C stops it.\n"
      "  node    {}\n"
      "          {}\n"
      "  memory  {} for blocks{}\n"
      "{}"
      "  state   {}{}\n{}",
      address, AddressAdvice(node.local()), HumanBytes(ground.node.relay.ram_bytes), payloads,
      TierLines(node), ground.state.directory().string(),
      development ? " (with a certificate for this machine alone)" : "",
      ground.credentials.requires_clients()
          ? "  peers   only clients with a certificate of the authorities in --client-ca\n"
          : "");
  (void)std::fflush(stdout);
}

// A file that is there while the node can be used. One of a node that was killed is replaced; one
// that another node has put in its place stays.
class ReadyFile {
 public:
  explicit ReadyFile(std::filesystem::path path) : path_(std::move(path)) {}
  ~ReadyFile() {
    std::error_code ignored;  // It is said to be gone at the end, not relied upon.
    if (IsOurs()) {
      // Where a link leads to, rather than the link, which is not ours.
      std::filesystem::remove(std::filesystem::canonical(path_, ignored), ignored);
    }
  }
  ReadyFile(const ReadyFile&) = delete;
  ReadyFile& operator=(const ReadyFile&) = delete;

  // REQUIRES: the node is bound to its address, which no other node has then.
  Result<void> Write(const std::string& address) {
    if (path_.empty()) {
      return {};
    }
    written_ = address + "\n";
    return WriteFileAtomically(path_, AsBytes(written_));
  }

 private:
  bool IsOurs() const {
    if (written_.empty()) {
      return false;
    }
    const Result<std::string> found = ReadRegularFile(path_, written_.size());
    return found.ok() && *found == written_;
  }

  std::filesystem::path path_;
  std::string written_;
};

// Turns the loop until `done` says so, or the time is over.
template <typename Done>
void RunFor(EventLoop& loop, Duration most, Done done) {
  const Instant until = Now() + most;
  while (!done() && Now() < until) {
    loop.RunOnce(until - Now());
  }
}

int RunServe(const ServeOptions& options) {
  const auto ground = Prepare(options);
  if (!ground.ok()) {
    return Failed(ground.error());
  }
  auto loop = EventLoop::Make();
  if (!loop.ok()) {
    return Failed(loop.error());
  }
  int asked_to_stop = 0;
  const auto signals = SignalWatch::Make(**loop, [&] { ++asked_to_stop; });
  if (!signals.ok()) {
    return Failed(signals.error());
  }
  ReadyFile ready_file(options.ready_file);
  Metrics metrics;
  TerminalLog log;
  NodeServer::Options with = ground->node;
  std::string payloads;
  if (!options.storage.no_prefault) {
    auto arena = SetAside(ground->payloads, [&] {
      (*loop)->RunOnce(Duration::zero());
      return asked_to_stop == 0;
    });
    if (arena.ok()) {
      payloads = ", " + DescribeArena(*arena);
      with.payload_memory = std::move(arena->memory);
    } else {  // It only receives more slowly.
      Log(&log, "node").Warning("memory not set aside", {{"reason", arena.error().ToString()}});
    }
  }
  if (asked_to_stop > 0) {
    return kExitOk;
  }
  Progress opening("Opening directories and buckets");
  with.on_opening = [&] {
    opening.Update(0, 0);
    return asked_to_stop == 0;
  };
  auto started = NodeServer::Start(**loop, with, ground->credentials, metrics, &log);
  if (!started.ok()) {
    return asked_to_stop > 0 ? kExitOk : Failed(started.error());
  }
  opening.Done();
  NodeServer& node = **started;
  const std::string address = AddressOf(node, ground->credentials);
  if (const auto written = ready_file.Write(address); !written.ok()) {
    return Failed(written.error());
  }
  PrintStart(*ground, address, node, payloads, options.certificate.empty());
  while (asked_to_stop == 0) {
    (*loop)->RunOnce(std::chrono::hours(1));
  }
  node.SayGoodbye(kGoodbye);
  RunFor(**loop, kGoodbye, [&] { return node.peer_count() == 0 || asked_to_stop > 1; });
  node.Close();
  RunFor(**loop, kFarewell, [&] { return node.peer_count() == 0; });
  node.Flush();
  RunFor(**loop, kFlush, [&] { return node.flushed() || asked_to_stop > 1; });
  return kExitOk;
}

}  // namespace

void AddServeCommand(CLI::App& app, int* exit_status) {
  CLI::App* const command = app.add_subcommand(
      "serve",
      "Run a node: keep what engines publish, and serve it to others\n\n"
      "Engines publish KV caches to a node and load them from it, over QUIC. The node keeps them "
      "in "
      "memory, evicts what is least likely to be used again when there is no more room, and tells "
      "clients which blocks it holds. With --disk, what memory evicts goes to a directory, and "
      "what "
      "publishers want to be durable goes there at once; after a restart the node has all of it "
      "again. A bucket (--bucket) takes both, too, and is what survives the loss of the machine: "
      "any "
      "node that is given it finds what is there. It prints the address that clients need, with "
      "the fingerprint of its "
      "certificate.\n\n"
      "On its first start it makes a certificate for this machine alone, in the state directory. "
      "To be "
      "reached from other machines, it needs a certificate for its name: 'kvcast cert' makes one. "
      "With --client-ca, clients that show no certificate of that authority are turned away in the "
      "handshake.\n\n"
      "Ctrl-C or SIGTERM stops it: it says goodbye to its peers, gives them two seconds, and exits "
      "with status 0.");
  command->group(kNodeCommands);
  command->footer(
      "kvcast serve\n"
      "kvcast serve --listen 127.0.0.1:0 --ready-file node.address --ram 512MiB\n"
      "kvcast serve --ram 16GiB --disk /var/lib/kvcast,bytes=500GiB\n"
      "kvcast serve --disk /var/lib/kvcast --bucket "
      "s3://caches/prod,endpoint=https://s3.example.org\n"
      "kvcast serve --listen 0.0.0.0:4433 --cert node.pem --key node.key --ram 64GiB\n"
      "kvcast serve --cert node.pem --key node.key --client-ca authority.pem");
  const auto options = std::make_shared<ServeOptions>();
  command->add_option("--listen", options->listen, "Where to listen; port 0 takes a free one")
      ->type_name("HOST:PORT")
      ->capture_default_str();
  StorageFlags::AddTo(*command, options->storage);
  command
      ->add_option("--state-dir", options->state_dir,
                   "Where the node's id and development certificate are kept")
      ->type_name("DIR")
      ->default_str("$XDG_STATE_HOME/kvcast or ~/.local/state/kvcast");
  CLI::Option* const certificate = command
                                       ->add_option("--cert,--certificate", options->certificate,
                                                    "A certificate to show, in PEM")
                                       ->type_name("FILE");
  CLI::Option* const key =
      command->add_option("--key", options->key, "Its private key, in PEM")->type_name("FILE");
  certificate->needs(key);
  key->needs(certificate);
  command
      ->add_option("--client-ca", options->client_authorities,
                   "Take only clients with a certificate of these authorities, in a PEM file")
      ->type_name("FILE");
  command
      ->add_option("--ready-file", options->ready_file,
                   "Write the address that clients need to this file, for as long as the node "
                   "can be used")
      ->type_name("FILE");
  QuicFlags::AddTo(*command, options->quic);
  command->callback([options, exit_status] { *exit_status = RunServe(*options); });
}

}  // namespace kvcast
