#include "kvcast/host/node_server.h"

#include <algorithm>
#include <chrono>
#include <numeric>
#include <utility>

#include "kvcast/base/hex.h"
#include "kvcast/catalog/node_greeting.h"
#include "kvcast/host/shard_plan.h"
#include "kvcast/host/version.h"
#include "kvcast/io/clock.h"

namespace kvcast {
namespace {

// How much of what it has seen a bucket's admission remembers: as of a disk of this size.
constexpr uint64_t kBucketAdmissionBytes = uint64_t{1} << 40;

relay::Relay::Options RelayOptions(const NodeServer::Options& node, ChunkPool& payload_chunks) {
  relay::Relay::Options options = node.relay;
  options.payload_chunks = payload_chunks.memory_bytes() > 0 ? &payload_chunks : nullptr;
  for (const UpstreamLink::Options& upstream : node.upstreams) {
    options.upstreams.push_back(
        {upstream.name, upstream.prefixes, upstream.hears, upstream.forgets});
  }
  return options;
}

}  // namespace

NodeServer::NodeServer(EventLoop& loop, const Options& options, Metrics& metrics, LogSink* log)
    : loop_(&loop),
      options_(options),
      log_sink_(log),
      log_(log, "node"),
      refusals_(log_),
      payload_chunks_(/*bytes_max=*/0, options.payload_memory),
      relay_(RelayOptions(options, payload_chunks_), metrics, log),
      disk_gauges_(metrics),
      bucket_gauges_(metrics),
      timer_(loop, [this] { OnStoreInput(); }) {
  if (payload_chunks_.memory_bytes() > 0) {
    options_.session.payload_chunks = &payload_chunks_;
  }
  if (!options_.shard.alone()) {
    guests_ = std::make_unique<NodeGuests>(
        loop, options_.shard, [this](PeerLine line) { return Admit(std::move(line), true); });
  }
}

NodeServer::~NodeServer() = default;

Result<std::unique_ptr<NodeServer>> NodeServer::Start(EventLoop& loop, const Options& options,
                                                      const ServerCredentials& credentials,
                                                      Metrics& metrics, LogSink* log) {
  KVCAST_TRY(std::unique_ptr<NodeServer> node, Open(loop, options, metrics, log));
  KVCAST_TRY(std::vector<UdpSocket> sockets, BindSockets(options, 1));
  KVCAST_TRY_VOID(node->Listen(credentials, std::move(sockets[0])));
  return node;
}

Result<std::vector<UdpSocket>> NodeServer::BindSockets(const Options& options, size_t count) {
  auto bound = UdpSocket::BindShared(options.listen, options.quic.socket, count);
  if (!bound.ok()) {
    return Error(
        bound.error().code(),
        bound.error().ToString() + " Choose another address by --listen; port 0 takes a free one.");
  }
  return bound;
}

Result<std::unique_ptr<NodeServer>> NodeServer::Open(EventLoop& loop, const Options& options,
                                                     Metrics& metrics, LogSink* log) {
  std::unique_ptr<NodeServer> node(new NodeServer(loop, options, metrics, log));
  KVCAST_TRY_VOID(node->OpenDisks(log));
  KVCAST_TRY_VOID(node->OpenBuckets(log));
  KVCAST_TRY_VOID(node->AwaitTiers());
  return node;
}

Result<void> NodeServer::Listen(const ServerCredentials& credentials, UdpSocket socket) {
  QuicServer::Options quic = options_.quic;
  if (!quic.secret) {
    // The node's own, not that of all who share a certificate: none may end another's connections.
    // One for all shards, since a token may come back to another one.
    const NodeId node = ShardNode(options_.relay.node, options_.shard.index);
    quic.secret = credentials.SecretFor("stateless answers of node " + ToHex(node));
  }
  quic.on_untrusted = [this](const SocketAddress& from, const std::string& reason) {
    refusals_.Note(from.ToString(), reason, Now());
  };
  quic.share = {options_.shard.index, options_.shard.count};
  quic.pass_on = [this](size_t home, const UdpPath& path, std::span<const std::byte> datagram) {
    PassOn(home, path, datagram);
  };
  KVCAST_TRY(quic_,
             QuicServer::Listen(*loop_, std::move(socket), credentials, quic,
                                [this](QuicConnection& connection) { return Accept(connection); }));
  OpenUpstreams();
  return {};
}

Result<void> NodeServer::OpenDisks(LogSink* log) {
  for (DiskMount::Options& options : options_.disks) {
    options.read_chunks = options_.session.payload_chunks;
    auto opened = DiskMount::Open(
        *loop_, options, [this] { OnStoreInput(); }, log);
    if (!opened.ok() && !options.needed) {
      log_.Warning("the node goes without its cache directory",
                   {{"reason", opened.error().ToString()}});
      continue;
    }
    KVCAST_TRY(std::unique_ptr<DiskMount> disk, std::move(opened));
    // Groups that nobody asked to be kept, and their handles: a few of them for each megabyte.
    const EvictionLimits limits{options.tier.bytes_max,
                                static_cast<size_t>(options.tier.bytes_max >> 20)};
    KVCAST_TRY(std::unique_ptr<Admission> admission, MakeAdmission(options.admission, limits));
    relay_.AddTier(TierKind::kDisk, disk->TakeTier(), std::move(admission));
    disks_.push_back(std::move(disk));
  }
  return {};
}

Result<void> NodeServer::OpenBuckets(LogSink* log) {
  for (const BucketMount::Options& options : options_.buckets) {
    KVCAST_TRY(std::unique_ptr<BucketMount> bucket,
               BucketMount::Open(
                   *loop_, options, [this] { OnStoreInput(); }, log));
    const EvictionLimits limits{kBucketAdmissionBytes,
                                static_cast<size_t>(kBucketAdmissionBytes >> 20)};
    KVCAST_TRY(std::unique_ptr<Admission> admission, MakeAdmission(options.admission, limits));
    relay_.AddTier(TierKind::kBucket, bucket->TakeTier(), std::move(admission));
    buckets_.push_back(std::move(bucket));
  }
  return {};
}

// Their first attempts begin when the loop turns: nobody waits for them.
void NodeServer::OpenUpstreams() {
  for (size_t i = 0; i < options_.upstreams.size(); ++i) {
    UpstreamLink::Callbacks callbacks;
    callbacks.joined = [this, i](NodePeer& peer) {
      peer.id = relay_.JoinUpstream(peer.session(), i);
      peers_[peer.id] = &peer;
      ++upstream_sessions_;
    };
    callbacks.input = [this](NodePeer& peer) { OnInput(peer); };
    callbacks.gone = [this](NodePeer& peer) {
      --upstream_sessions_;
      OnGone(peer);
    };
    upstreams_.push_back(std::make_unique<UpstreamLink>(*loop_, options_.upstreams[i],
                                                        options_.session, options_.relay.secret + i,
                                                        std::move(callbacks), log_sink_));
  }
}

uint64_t NodeServer::Progress() const {
  return std::accumulate(
      disks_.begin(), disks_.end(), uint64_t{0},
      [](uint64_t sum, const auto& disk) { return sum + disk->tier().opening_reads(); });
}

Result<void> NodeServer::AwaitTiers() {
  const Instant patience = Now() + options_.bucket_patience;
  // A large directory takes its time; one that stands still keeps nobody waiting for ever.
  uint64_t progress = 0;
  Instant disks_since = Now();
  while (!relay_.opened()) {
    for (const auto& disk : disks_) {
      if (disk->tier().state() == DiskTier::State::kRefused) {
        return Error(disk->tier().refusal()).In(disk->directory().string());
      }
    }
    for (const auto& bucket : buckets_) {
      if (bucket->tier().state() == BucketTier::State::kRefused) {
        return Error(bucket->tier().refusal()).In(bucket->options().where);
      }
    }
    const bool disks_open =
        std::ranges::all_of(disks_, [](const auto& disk) { return disk->tier().ready(); });
    if (!disks_open && Progress() != progress) {
      progress = Progress();
      disks_since = Now();
    }
    const bool disks_still = Now() >= disks_since + options_.disk_patience;
    if ((disks_open || disks_still) && relay_.listed() && Now() >= patience) {
      for (const auto& disk : disks_) {
        if (!disk->tier().ready()) {
          log_.Error("disk does not answer; the node goes on without it until it does",
                     {{"directory", disk->directory().string()}});
        }
      }
      for (const auto& bucket : buckets_) {
        if (!bucket->tier().ready()) {
          log_.Warning("bucket not read yet",
                       {{"bucket", bucket->options().where}, {"reason", bucket->tier().trouble()}});
        }
      }
      return {};
    }
    if (!options_.on_opening()) {
      return Error(ErrorCode::kMachine, "It was stopped before its directories were open.");
    }
    loop_->RunOnce(std::chrono::milliseconds(100));
    OnStoreInput();
  }
  return {};
}

void NodeServer::OnStoreInput() {
  relay_.OnTimeout(Now());
  for (const auto& disk : disks_) {
    disk_gauges_.Show(*disk);
  }
  for (const auto& bucket : buckets_) {
    bucket_gauges_.Show(*bucket);
  }
  PokeTouched(nullptr);
}

void NodeServer::Flush() {
  relay_.Flush(Now());
  for (const auto& disk : disks_) {
    disk->Seal();
  }
  for (const auto& bucket : buckets_) {
    bucket->Flush();
  }
}

bool NodeServer::flushed() const {
  return std::ranges::all_of(disks_, [](const auto& disk) { return disk->tier().idle(); }) &&
         std::ranges::all_of(buckets_,
                             [](const auto& bucket) { return bucket->tier().queued_bytes() == 0; });
}

std::unique_ptr<moqt::TransportUser> NodeServer::Accept(QuicConnection& connection) {
  return options_.shard.alone() ? Admit(PeerLine::Of(connection), false) : AcceptForAll(connection);
}

std::unique_ptr<NodePeer> NodeServer::Admit(PeerLine line, bool is_guest) {
  moqt::Setup setup;
  setup.implementation =
      NodeGreeting("kvcast/" + Version(), ShardNode(options_.relay.node, options_.shard.index));
  NodePeerOwner& owner = *this;
  auto peer = std::make_unique<NodePeer>(*loop_, std::move(line), moqt::Role::kServer, setup,
                                         options_.session, owner);
  const relay::Credential credential = CredentialOf(peer->line());
  peer->is_guest = is_guest;
  peer->id = relay_.Join(peer->session(), credential, is_guest);
  peers_[peer->id] = peer.get();
  if (!is_guest) {
    log_.Info("peer joined", {{"peer", peer->id}, {"from", peer->line().from}});
  }
  if (leaving_) {
    peer->session().Close(moqt::SessionCode::kNoError, "This node is leaving.");
  }
  return peer;
}

relay::Credential NodeServer::CredentialOf(const PeerLine& line) const {
  if (!line.certificate) {
    return {};
  }
  const Result<CertificateFacts> facts = ReadDerCertificate(*line.certificate);
  return facts.ok() ? kvcast::CredentialOf(*facts, options_.certificates) : relay::Credential();
}

void NodeServer::OnInput(NodePeer& peer) {
  relay_.OnInput(peer.id, Now());
  PokeTouched(&peer);
}

void NodeServer::OnGone(NodePeer& peer) {
  peers_.erase(peer.id);
  relay_.Leave(peer.id);
  log_.Info("peer left", {{"peer", peer.id}});
  PokeTouched(nullptr);
}

void NodeServer::PokeTouched(const NodePeer* asking) {
  for (const relay::PeerId id : relay_.TakeTouched()) {
    const auto peer = peers_.find(id);
    if (peer != peers_.end() && peer->second != asking) {
      peer->second->Poke();
    }
  }
  for (const auto& disk : disks_) {
    disk->Submit();
  }
  for (const auto& bucket : buckets_) {
    bucket->Submit();
  }
  if (const relay::ForgetMemory* const memory = relay_.TakeForgotten()) {
    const Result<void> kept =
        options_.keep_forgotten ? options_.keep_forgotten(*memory) : Result<void>();
    if (!kept.ok()) {
      log_.Error("what was forgotten is not written down, and not told after a restart",
                 {{"reason", kept.error().ToString()}});
    }
  }
  for (const size_t upstream : relay_.TakeRings()) {
    LeaveRing(upstream, true);
  }
  if (const std::optional<Instant> deadline = relay_.deadline()) {
    timer_.Set(*deadline);
  } else {
    timer_.Stop();
  }
}

relay::ForgetReport NodeServer::Forget(const relay::ForgetScope& scope, relay::ForgetMode mode) {
  const relay::ForgetReport report = relay_.Forget(scope, Now(), mode);
  PokeTouched(nullptr);
  return report;
}

void NodeServer::Renew(const ServerCredentials& credentials, const relay::Limits& limits,
                       const moqt::Limits& session, const QuicServer::Options& quic) {
  // What was planned with the tiers stays.
  options_.relay.limits = limits;
  options_.relay.limits.pledged_bytes = relay_.limits().pledged_bytes;
  relay_.SetLimits(options_.relay.limits);
  ChunkPool* const chunks = options_.session.payload_chunks;
  options_.session = session;
  options_.session.payload_chunks = chunks;
  for (const auto& upstream : upstreams_) {
    upstream->SetLimits(options_.session);
  }
  options_.quic = quic;
  quic_->Renew(credentials, quic);
}

void NodeServer::RenewAccess(const relay::Access::Options& access,
                             const CertificateGrants& certificates) {
  options_.relay.access = access;
  options_.certificates = certificates;
  relay::Credentials credentials;
  for (const auto& [id, peer] : peers_) {
    credentials[id] = CredentialOf(peer->line());
  }
  relay_.ReplaceAccess(access, credentials, Now());
  PokeTouched(nullptr);
}

void NodeServer::SayGoodbye(Duration until_leaving) {
  leaving_ = true;
  const auto ms = std::chrono::ceil<std::chrono::milliseconds>(until_leaving).count();
  for (const auto& [id, peer] : peers_) {
    peer->session().OnTime(Now());
    (void)peer->session().SendGoAway("", static_cast<uint64_t>(ms)).ok();
    peer->Poke();
  }
}

void NodeServer::Close() {
  leaving_ = true;
  for (const auto& upstream : upstreams_) {
    upstream->Close();
  }
  for (const auto& [id, peer] : peers_) {
    peer->session().Close(moqt::SessionCode::kNoError, "This node has left.");
    peer->Poke();
  }
}

}  // namespace kvcast
