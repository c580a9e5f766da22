#include "kvcast/host/config_table.h"

#include <array>
#include <filesystem>
#include <string>

#include "kvcast/host/bucket_flag.h"
#include "kvcast/host/disk_flag.h"
#include "kvcast/host/upstream_flags.h"
#include "kvcast/io/human_units.h"
#include "kvcast/io/port_share.h"

namespace kvcast {
namespace {

constexpr uint64_t kHour = uint64_t{3600} * 1'000'000'000;

Result<void> CheckSizeOrAuto(std::string_view text) {
  if (text == "auto") {
    return {};
  }
  KVCAST_TRY_VOID(ParseBytes(text));
  return {};
}

Result<void> CheckDirectory(std::string_view text) {
  if (text.empty() || std::filesystem::is_directory(text)) {
    return {};
  }
  return Error(ErrorCode::kInvalid, std::string(text) + " is no directory");
}

std::vector<ConfigKey> TrustKeys() {
  return {
      {"tls", "certificate", "--cert,--certificate", "FILE",
       "one of its own, for this machine alone", "A certificate to show, in PEM",
       [](NodeConfig& c) -> ConfigPlace { return &c.certificate; }},
      {"tls", "key", "--key", "FILE", "that of its own certificate", "Its private key, in PEM",
       [](NodeConfig& c) -> ConfigPlace { return &c.key; }},
      {"tls", "client_ca", "--client-ca", "FILE", "any client",
       "Take only clients with a certificate of these authorities, in a PEM file",
       [](NodeConfig& c) -> ConfigPlace { return &c.client_authorities; }},
      {"tls", "tokens", "--tokens", "FILE", "none",
       "Take only clients that send a token of this file, which 'kvcast token' makes; it says as "
       "well what certificates are good for that do not say so themselves",
       [](NodeConfig& c) -> ConfigPlace { return &c.tokens; }},
      {"tls", "upstream_ca", "--upstream-ca", "FILE", "those this machine trusts",
       "The authorities to trust with upstreams' certificates, in a PEM file; for those without a "
       "fingerprint",
       [](NodeConfig& c) -> ConfigPlace { return &c.upstream_authorities; }},
      {"tls", "upstream_certificate", "--upstream-cert", "FILE", "none",
       "A certificate to show to upstreams that ask for one, in PEM",
       [](NodeConfig& c) -> ConfigPlace { return &c.upstream_certificate; }},
      {"tls", "upstream_key", "--upstream-key", "FILE", "none", "Its private key, in PEM",
       [](NodeConfig& c) -> ConfigPlace { return &c.upstream_key; }},
      {"tls", "upstream_token_file", "--upstream-token-file", "FILE", "none",
       "A file with the token to send to upstreams that know their clients by tokens",
       [](NodeConfig& c) -> ConfigPlace { return &c.upstream_token_file; }},
  };
}

std::vector<ConfigKey> Table() {
  std::vector<ConfigKey> keys = {
      {"listen", "address", "--listen", "HOST:PORT", "", "Where to listen; port 0 takes a free one",
       [](NodeConfig& c) -> ConfigPlace { return &c.listen; }},
      {"listen", "ready_file", "--ready-file", "FILE", "none",
       "Write the address that clients need to this file, for as long as the node can be used",
       [](NodeConfig& c) -> ConfigPlace { return &c.ready_file; }},
      {"listen", "shards", "--shards", "N", "",
       "Serve on so many threads, each with its own part of the memory and of every directory: as "
       "many as there are cores to spare. A directory stays with the number that it began with",
       [](NodeConfig& c) -> ConfigPlace { return ConfigCount{&c.shards}; }, 1,
       PortShare::kCountMax},
      {"state", "directory", "--state-dir", "DIR",
       "$XDG_STATE_HOME/kvcast or ~/.local/state/kvcast",
       "Where the node's id and development certificate are kept",
       [](NodeConfig& c) -> ConfigPlace { return &c.state_directory; }},
      {"memory", "ram", "--ram", "SIZE", "4GiB, or half of the memory there is if that is less",
       "Memory for blocks, their names and their index",
       [](NodeConfig& c) -> ConfigPlace { return &c.ram; }, 0, 0, &CheckSizeOrAuto},
      {"memory", "prefault", "--no-prefault", "true|false",
       "Take memory from the machine as it is needed, instead of at the start",
       "Take memory from the machine at the start, instead of as it is needed",
       [](NodeConfig& c) -> ConfigPlace { return &c.prefault; }},
      {"memory", "eviction", "--eviction", kEvictionWords, "",
       "Who goes when memory is full, and in directories that say nothing else: who was used "
       "longest ago, least often, by S3-FIFO, or by a rule that learns when blocks come back and "
       "keeps prefixes from their beginning",
       [](NodeConfig& c) -> ConfigPlace { return &c.eviction; }},
      {"memory", "warm_rate", "--warm-rate", "SIZE", "",
       "How many bytes a second are read from directories and buckets before anybody asks for "
       "them, at most; 0 reads nothing ahead of a fetch",
       [](NodeConfig& c) -> ConfigPlace { return ConfigBytes{&c.warm_rate_bytes}; }, 0,
       uint64_t{1} << 40},
      {"cache", "directory", "--cache-dir", "DIR", "$XDG_CACHE_HOME/kvcast or ~/.cache/kvcast",
       "Where a node that is given neither a disk nor a bucket keeps what memory has no room for; "
       "none keeps it nowhere",
       [](NodeConfig& c) -> ConfigPlace { return &c.cache_directory; }},
      {"cache", "bytes", "--cache-bytes", "SIZE", "a tenth of what is free there, 10GiB at most",
       "For all files of that directory",
       [](NodeConfig& c) -> ConfigPlace { return &c.cache_bytes; }, 0, 0, &CheckSizeOrAuto},
      {"quic", "congestion", "--congestion", "auto|cubic|bbr", "",
       "What decides how much is sent at a time. auto is cubic to this machine, and bbr, which "
       "packet loss does not stop, to every other",
       [](NodeConfig& c) -> ConfigPlace { return &c.congestion; }},
      {"quic", "qlog_directory", "--qlog-dir", "DIR", "none",
       "Leave a qlog file of every connection in this directory, up to 256 MiB each",
       [](NodeConfig& c) -> ConfigPlace { return &c.qlog_directory; }, 0, 0, &CheckDirectory},
      {"admin", "listen", "--admin", "HOST:PORT", "",
       "Where to serve pages for operators, on loopback alone; none serves them nowhere. If "
       "nothing "
       "is said and this one is taken, a free port",
       [](NodeConfig& c) -> ConfigPlace { return &c.admin; }},
      {"admin", "canary_every", "", "TIME", "",
       "How often the node publishes an object to itself and fetches it, to know that it works",
       [](NodeConfig& c) -> ConfigPlace { return &c.canary_every; }, kHour / 36'000, kHour},
      {"admin", "canary_patience", "", "TIME", "", "How long that may take for it to be ready",
       [](NodeConfig& c) -> ConfigPlace { return &c.canary_patience; }, kHour / 3'600'000, kHour},
      {"stop", "drain", "--drain", "TIME", "",
       "How long peers have to finish what is under way once the node is asked to stop",
       [](NodeConfig& c) -> ConfigPlace { return &c.drain; }, 0, kHour},
      {"stop", "flush", "", "TIME", "",
       "How long, after that, what is on its way to a disk or a bucket may take",
       [](NodeConfig& c) -> ConfigPlace { return &c.flush; }, 0, kHour},
  };
  const std::vector<ConfigKey> trust = TrustKeys();
  keys.insert(keys.end(), trust.begin(), trust.end());
  AddLimitKeys(keys);
  return keys;
}

constexpr ConfigTierKey kTierKeys[] = {
    {"disk", "directory", "DIR", "", "Where the files are; it is made if it is not there"},
    {"disk", "bytes", "SIZE", "half of what its file system has for it", "For all of its files"},
    {"disk", "class", "ssd|hdd", "ssd", "What kind of disk it is on"},
    {"disk", "admit", "all|second", "all",
     "Which of the blocks that memory evicts are written: all, or those that come a second time"},
    {"disk", "evict", kEvictionWords, "as in memory", "Who goes when it is full"},
    {"bucket", "url", "s3://BUCKET[/PREFIX]", "", "The bucket, and what its keys begin with"},
    {"bucket", "endpoint", "URL", "AWS_ENDPOINT_URL_S3, AWS_ENDPOINT_URL, or Amazon's",
     "The server"},
    {"bucket", "region", "NAME", "AWS_REGION, AWS_DEFAULT_REGION, or us-east-1", "Its region"},
    {"bucket", "style", "path|host", "path where there is an endpoint, else host",
     "Where requests name the bucket"},
    {"bucket", "bytes", "SIZE", "no bound", "For what this node puts there"},
    {"bucket", "admit", "all|second", "all",
     "Which of the blocks that memory or a disk evicts are put there"},
    {"bucket", "patience", "TIME", "2s",
     "How long it may take to bring a block, 30s at most, before that is a miss"},
    {"bucket", "credentials", "FILE", "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or ~/.aws",
     "A file with the keys: never write these on a command line"},
    {"bucket", "profile", "NAME", "default", "Which of the keys in that file"},
    {"bucket", "access_key", "TEXT", "",
     "The keys themselves, in place of such a file: whoever reads this one has them", true},
    {"bucket", "secret_key", "TEXT", "", "What goes with access_key", true},
    {"bucket", "session_token", "TEXT", "", "What goes with both, if they are for a while", true},
    {"bucket", "ca", "FILE", "those that this machine trusts",
     "Authorities that the server's certificate may be of, in PEM"},
    {"upstream", "node", kUpstreamPlace, "",
     "Where it is, how to be sure of it, and for which namespace it is asked"},
    {"upstream", "hears", "true|false", "true",
     "Whether it hears of what is held here, so that all who ask it find that"},
    {"upstream", "forgets", "true|false", "true",
     "Whether what it was told to forget is forgotten here, too, of what it is asked for"},
};

constexpr ConfigSection kSections[] = {
    {"listen", "", "", "Where the node listens"},
    {"state", "", "", "What it keeps between runs"},
    {"tls", "", "", "Who it is, and whom it takes"},
    {"memory", "", "", "Blocks in memory"},
    {"reserve.memory", "--reserve", "TENANT=SIZE",
     "Of that memory, keep so much for a tenant's blocks: others do not evict them"},
    {"cache", "", "", "Where blocks go that memory has no room for, if there is no other tier"},
    {"disk", "--disk", kDiskGrammar,
     "Keep objects in this directory as well. What memory evicts goes there, and at once what is "
     "to be durable"},
    {"reserve.disk", "--reserve-disk", "TENANT=SIZE",
     "Of each directory, keep so much for a tenant's blocks, half of a directory in all: others "
     "do not evict them"},
    {"bucket", "--bucket", kBucketGrammar,
     "Keep objects in this S3 bucket as well, which nodes may share"},
    {"reserve.bucket", "--reserve-bucket", "TENANT=SIZE",
     "Of what this node may put into each bucket, keep so much for a tenant's blocks: others do "
     "not "
     "evict them"},
    {"upstream", "--upstream", kUpstreamGrammar,
     "A node or MoQT relay to ask for what is not here, of a namespace prefix or of everything, "
     "in the order in which they are preferred"},
    {"quic", "", "", "Connections"},
    {"admin", "", "", "Pages for operators: metrics, health, status"},
    {"stop", "", "", "What happens at SIGTERM"},
    {"limits", "", "", "What one peer may cost the node, and what it asks of others"},
    {"limits.session", "", "", "What one session may cost the node"},
    {"limits.quic", "", "", "What connections may cost the node"},
};

}  // namespace

std::span<const ConfigKey> ConfigKeys() {
  static const std::vector<ConfigKey> keys = Table();
  return keys;
}

std::span<const ConfigTierKey> ConfigTierKeys() { return kTierKeys; }
std::span<const ConfigSection> ConfigSections() { return kSections; }

}  // namespace kvcast
