#include "kvcast/host/start_report.h"

#include <fmt/format.h>

#include "kvcast/host/access_flags.h"
#include "kvcast/host/model_text.h"
#include "kvcast/io/human_units.h"

namespace kvcast {
namespace {

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
                         tier.ready() ? Grouped(tier.packs().counted) + " packs, " +
                                            Grouped(tier.index().object_count()) + " objects"
                                      : "does not answer yet");
  }
  return lines;
}

std::string UpstreamLines(const NodeServer& node) {
  std::string lines;
  for (const auto& upstream : node.upstreams()) {
    lines += fmt::format("  asks    {} for what is not here\n", upstream->options().name);
  }
  return lines;
}

}  // namespace

std::string AddressOf(const NodeServer& node, const ServerCredentials& credentials) {
  return node.local().ToString() + "#" + credentials.fingerprint().ToHex();
}

std::string StartReport(const NodeGround& ground, const NodeServer& node,
                        const std::string& payloads, bool development, const std::string& admin) {
  return fmt::format(
      "kvcast is serving. Ctrl-C stops it.\n"
      "  node    {}\n"
      "          {}\n"
      "  memory  {} for blocks{}\n"
      "{}"
      "  state   {}{}\n{}{}",
      AddressOf(node, ground.credentials), AddressAdvice(node.local()),
      HumanBytes(ground.node.relay.ram_bytes), payloads, TierLines(node) + UpstreamLines(node),
      ground.state.directory().string(),
      development ? " (with a certificate for this machine alone)" : "",
      AccessLine(ground.credentials.requires_clients(), ground.node),
      admin.empty()
          ? ""
          : fmt::format("  admin   http://{}/ has metrics, healthz, readyz, status.json and "
                        "misses.json\n",
                        admin));
}

}  // namespace kvcast
