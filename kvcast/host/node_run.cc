#include "kvcast/host/node_run.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <functional>
#include <tuple>
#include <utility>

#include "kvcast/host/access_flags.h"
#include "kvcast/host/admin_secret.h"
#include "kvcast/host/config_key.h"
#include "kvcast/host/shard_plan.h"
#include "kvcast/host/start_report.h"
#include "kvcast/io/clock.h"
#include "kvcast/io/progress.h"

namespace kvcast {
namespace {

// How long the last packets have, once peers are told that the node has gone.
constexpr Duration kFarewell = std::chrono::milliseconds(200);

// Turns the loop until `done` says so, or the time is over. It is asked again after `step`.
template <typename Done>
void RunFor(EventLoop& loop, Duration most, Duration step, Done done) {
  const Instant until = Now() + most;
  while (!done() && Now() < until) {
    loop.RunOnce(std::min(step, until - Now()));
  }
}

// How often it is looked what other threads have done.
constexpr Duration kLookInterval = std::chrono::milliseconds(10);

}  // namespace

NodeRun::NodeRun(const ServeFlags& flags, NodeConfig config, NodeGround ground)
    : flags_(&flags),
      config_(std::move(config)),
      ground_(std::move(ground)),
      log_(&sink_, "node"),
      ready_file_(config_.ready_file) {}

NodeRun::~NodeRun() = default;

Result<std::unique_ptr<NodeRun>> NodeRun::Prepare(const ServeFlags& flags) {
  const Result<NodeConfig> config = flags.Config();
  if (!config.ok()) {
    throw CLI::ValidationError(config.error().ToString());
  }
  CheckAdminAddress(*config);
  KVCAST_TRY(NodeGround ground, NodeGround::Prepare(*config));
  std::unique_ptr<NodeRun> run(new NodeRun(flags, *config, std::move(ground)));
  KVCAST_TRY(run->loop_, EventLoop::Make());
  NodeRun* const self = run.get();
  KVCAST_TRY(run->signals_,
             SignalWatch::Make(
                 *run->loop_, [self] { ++self->asked_to_stop_; }, [self] { self->Reload(); }));
  return run;
}

Result<void> NodeRun::Run() {
  KVCAST_TRY(const bool started, Start());
  if (!started) {
    return {};
  }
  while (asked_to_stop_ == 0) {
    loop_->RunOnce(std::chrono::hours(1));
  }
  Stop();
  return {};
}

std::vector<ChunkMemory> NodeRun::SetMemoryAside(std::string& became) {
  std::vector<ChunkMemory> payloads(config_.shards);
  if (!config_.prefault) {
    return payloads;
  }
  const PayloadShare share{ground_.payloads.bytes / config_.shards,
                           ground_.payloads.prefault_bytes / config_.shards};
  size_t set_aside_bytes = 0;
  size_t huge_bytes = 0;
  for (ChunkMemory& payload : payloads) {
    auto arena = SetAside(share, [&] {
      loop_->RunOnce(Duration::zero());
      return asked_to_stop_ == 0;
    });
    if (!arena.ok()) {  // It only receives more slowly.
      log_.Warning("memory not set aside", {{"reason", arena.error().ToString()}});
      return payloads;
    }
    set_aside_bytes += std::min(arena->memory.there_bytes, arena->memory.bytes.size());
    huge_bytes += arena->huge_bytes;
    payload = std::move(arena->memory);
  }
  became = ", " + DescribeArena(set_aside_bytes, huge_bytes);
  return payloads;
}

Result<std::unique_ptr<NodeServer>> NodeRun::StartNode(const NodeServer::Options& options,
                                                       std::vector<ChunkMemory> payloads) {
  const std::filesystem::path& state = ground_.state.directory();
  if (config_.shards > 1) {
    KVCAST_TRY(others_, OtherShards::Make(*loop_, config_.shards));
    return others_->Start(options, std::move(payloads), ground_.credentials, metrics_, &sink_,
                          state);
  }
  KVCAST_TRY(NodeServer::Options only, ShardOptions(options, 0, 1, state));
  only.payload_memory = std::move(payloads[0]);
  return NodeServer::Start(*loop_, only, ground_.credentials, metrics_, &sink_);
}

void NodeRun::OnAll(const std::function<void(NodeServer&)>& work) {
  work(*node_);
  if (others_ != nullptr) {
    others_->OnEach([&work](OtherShards::Shard& shard) { work(*shard.node); });
  }
}

bool NodeRun::AllAre(bool (*is)(const NodeServer&)) {
  if (!is(*node_) || others_ == nullptr) {
    return is(*node_);
  }
  const auto said = others_->Ask<bool>([is](OtherShards::Shard& shard) { return is(*shard.node); });
  return std::ranges::all_of(said, [](const auto& each) { return each.value_or(true); });
}

Result<bool> NodeRun::Start() {
  NodeServer::Options options = ground_.node;
  std::string became;
  std::vector<ChunkMemory> payloads = SetMemoryAside(became);
  if (asked_to_stop_ > 0) {
    return false;
  }
  Progress opening("Opening directories and buckets");
  options.on_opening = [&] {
    opening.Update(0, 0);
    return asked_to_stop_ == 0;
  };
  auto started = StartNode(options, std::move(payloads));
  if (!started.ok()) {
    return asked_to_stop_ > 0 ? Result<bool>(false) : Result<bool>(started.error());
  }
  opening.Done();
  node_ = *std::move(started);
  const NodeHealth::Options canaries{config_.canary_every, config_.canary_patience};
  health_ = std::make_unique<NodeHealth>(*loop_, *node_, canaries, metrics_, &sink_);
  if (others_ != nullptr) {
    others_->Watch(canaries, &sink_);
  }
  KVCAST_TRY(const std::string secret, DrawAdminSecret());
  KVCAST_TRY(admin_, AdminPort::Open(*loop_, config_, *node_, *health_, metrics_, secret, &sink_,
                                     others_.get()));
  KVCAST_TRY_VOID(WriteAdminSecret(ground_.state.directory(), secret,
                                   admin_ ? admin_->local().ToString() : ""));
  KVCAST_TRY_VOID(ready_file_.Write(AddressOf(*node_, ground_.credentials)));
  fmt::print("{}", StartReport(ground_, *node_, became, config_.certificate.empty(),
                               admin_ ? admin_->local().ToString() : ""));
  (void)std::fflush(stdout);
  return true;
}

void NodeRun::Reload() {
  if (node_ == nullptr) {
    return;  // It has yet to start, with what it has read.
  }
  // What is wrong with it now must not end a node that works.
  Result<void> renewed;
  try {
    const Result<NodeConfig> config = flags_->Config();
    renewed = config.ok() ? Renew(*config) : Result<void>(config.error());
  } catch (const CLI::Error& error) {
    renewed = Error(ErrorCode::kInvalid, error.what());
  }
  if (!renewed.ok()) {
    log_.Error("configuration not reloaded; the node goes on with what it has",
               {{"reason", renewed.error().ToString()}});
  }
}

std::string NodeRun::NeedsRestart(const NodeConfig& config) const {
  std::string names;
  for (const ConfigKey& key : ConfigKeys()) {
    if (!key.reloads() && key.Get(config) != key.Get(config_)) {
      names += (names.empty() ? "" : " ") + key.full_name();
    }
  }
  for (const auto& [name, before, after] :
       {std::tuple("disk", &config_.disks, &config.disks),
        std::tuple("bucket", &config_.buckets, &config.buckets),
        std::tuple("upstream", &config_.upstreams, &config.upstreams)}) {
    if (!std::ranges::equal(*before, *after, std::mem_fn(&TierConfig::IsLike))) {
      names += (names.empty() ? "" : " ") + std::string(name);
    }
  }
  return names;
}

Result<void> NodeRun::Renew(const NodeConfig& config) {
  KVCAST_TRY_VOID(CheckCertificate(config, node_->options().listen));
  KVCAST_TRY(ServerCredentials credentials, CredentialsOf(config, ground_.state));
  const AccessFlags access{config.tokens};
  access.CheckListen(config.Naming("listen", "address"), config_.listen, node_->options().listen,
                     !config.client_authorities.empty());
  NodeServer::Options renewed;
  KVCAST_TRY_VOID(access.Apply(credentials.requires_clients(), renewed));
  OnAll([&](NodeServer& node) { node.RenewAccess(renewed.relay.access, renewed.certificates); });
  if (admin_ != nullptr) {
    admin_->ReplaceTokens(renewed.relay.access.tokens);
  }
  const bool is_new = credentials.fingerprint() != ground_.credentials.fingerprint();
  const relay::Limits limits = ShardLimits(config.relay, config_.shards);
  OnAll([&](NodeServer& node) {
    node.Renew(credentials, limits, config.session,
               ShardDoor(QuicOf(config, node.options().quic), config_.shards));
  });
  ground_.credentials = std::move(credentials);
  if (const std::string names = NeedsRestart(config); !names.empty()) {
    log_.Warning("these take effect at the next start", {{"keys", names}});
  }
  // What needs a restart is still what it was.
  for (const ConfigKey& key : ConfigKeys()) {
    if (key.reloads()) {
      KVCAST_TRY_VOID(key.Set(config_, key.Get(config)));
    }
  }
  const std::string address = AddressOf(*node_, ground_.credentials);
  if (is_new) {
    KVCAST_TRY_VOID(ready_file_.Write(address));
  }
  log_.Info("configuration reloaded", {{"address", address}});
  return {};
}

void NodeRun::Stop() {
  const Duration step = others_ == nullptr ? Duration::max() : kLookInterval;
  const auto empty = [](const NodeServer& node) { return node.peer_count() == 0; };
  const auto flushed = [](const NodeServer& node) { return node.flushed(); };
  health_->Leave();
  if (others_ != nullptr) {
    others_->StopWatching();
  }
  OnAll([this](NodeServer& node) { node.SayGoodbye(config_.drain); });
  RunFor(*loop_, config_.drain, step, [&] { return AllAre(empty) || asked_to_stop_ > 1; });
  OnAll([](NodeServer& node) { node.Close(); });
  RunFor(*loop_, kFarewell, step, [&] { return AllAre(empty); });
  OnAll([](NodeServer& node) { node.Flush(); });
  RunFor(*loop_, config_.flush, step, [&] { return AllAre(flushed) || asked_to_stop_ > 1; });
}

}  // namespace kvcast
