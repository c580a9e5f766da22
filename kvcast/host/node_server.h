#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "kvcast/base/log.h"
#include "kvcast/base/metrics.h"
#include "kvcast/base/result.h"
#include "kvcast/host/bucket_gauges.h"
#include "kvcast/host/bucket_mount.h"
#include "kvcast/host/disk_gauges.h"
#include "kvcast/host/disk_mount.h"
#include "kvcast/host/node_peer.h"
#include "kvcast/host/peer_identity.h"
#include "kvcast/host/refusal_log.h"
#include "kvcast/host/upstream_link.h"
#include "kvcast/io/event_loop.h"
#include "kvcast/io/quic_server.h"
#include "kvcast/relay/relay.h"

namespace kvcast {

// A node on a loop: a QUIC server, a session for every connection, and one relay behind them all.
// Belongs to the loop's thread.
class NodeServer : private NodePeerOwner {
 public:
  struct Options {
    SocketAddress listen;
    relay::Relay::Options relay;
    CertificateGrants certificates;  // What counts of certificates instead of what they say.
    moqt::Limits session;
    QuicServer::Options quic;
    // Set aside for payloads that come in, and part of relay.ram_bytes; may be empty.
    ChunkMemory payload_memory;
    std::vector<DiskMount::Options> disks;
    std::vector<BucketMount::Options> buckets;
    // Whom to ask for what is not here, the preferred ones first.
    std::vector<UpstreamLink::Options> upstreams;
    // Keeps what is to be known of forgetting after a restart; relay.forgotten has it then.
    std::function<Result<void>(const relay::ForgetMemory&)> keep_forgotten;
    // How long a start waits for a disk that stands still. It is taken in when it comes.
    Duration disk_patience = std::chrono::seconds(30);
    // How long a start waits for buckets. One that does not answer is read when it does.
    Duration bucket_patience = std::chrono::seconds(10);
    // Asked now and then while directories are being opened: false gives the start up.
    std::function<bool()> on_opening = [] { return true; };
  };
  // Opens the directories first, however long that takes while their disks get on with it, and
  // reads the buckets, if they answer; then listens. Machine: the address, or a directory, is not
  // to be had. Unsupported: a directory or a bucket is of a version that we do not know.
  static Result<std::unique_ptr<NodeServer>> Start(EventLoop& loop, const Options& options,
                                                   const ServerCredentials& credentials,
                                                   Metrics& metrics, LogSink* log);
  ~NodeServer() override;
  NodeServer(const NodeServer&) = delete;
  NodeServer& operator=(const NodeServer&) = delete;

  const SocketAddress& local() const { return quic_->local(); }
  const relay::Relay& relay() const { return relay_; }
  relay::Relay& relay() { return relay_; }
  const QuicServer& quic() const { return *quic_; }
  const Options& options() const { return options_; }
  const std::map<relay::PeerId, NodePeer*>& peers() const { return peers_; }
  // Those who came to us.
  size_t peer_count() const { return peers_.size() - upstream_sessions_; }

  // As relay().Forget(), of the node as a whole; what relays below are to be told is kept.
  relay::ForgetReport Forget(const relay::ForgetScope& scope, relay::ForgetMode mode);

  // Call it after the relay was asked for something other than by a peer.
  void OnAsked() { PokeTouched(nullptr); }

  // For peers from now on: what they are shown, and what they may cost. Limits of the relay hold
  // for all.
  void Renew(const ServerCredentials& credentials, const relay::Limits& limits,
             const moqt::Limits& session, const QuicServer::Options& quic);

  // Who may do what, of those who are here as well: who may not stay is closed.
  void RenewAccess(const relay::Access::Options& access, const CertificateGrants& certificates);

  // Tells every peer that the node leaves in so long; new requests are refused from now on.
  void SayGoodbye(Duration until_leaving);
  // Ends every session. Let the loop turn, so that peers hear of it.
  void Close();
  // What waits for more to be uploaded with it waits no longer, and directories are left so that
  // the next start has nothing to repair.
  void Flush();
  // Nothing is under way to a disk or a bucket any more.
  bool flushed() const;
  const std::vector<std::unique_ptr<DiskMount>>& disks() const { return disks_; }
  const std::vector<std::unique_ptr<BucketMount>>& buckets() const { return buckets_; }
  const std::vector<std::unique_ptr<UpstreamLink>>& upstreams() const { return upstreams_; }

 private:
  NodeServer(EventLoop& loop, const Options& options, Metrics& metrics, LogSink* log);
  Result<void> OpenDisks(LogSink* log);
  Result<void> OpenBuckets(LogSink* log);
  // Of disks that are being opened.
  uint64_t Progress() const;
  Result<void> AwaitTiers();
  void OpenUpstreams(LogSink* log);
  void OnStoreInput();
  std::unique_ptr<moqt::TransportUser> Accept(QuicConnection& connection);
  relay::Credential CredentialOf(const QuicConnection& connection) const;

  void OnInput(NodePeer& peer) override;
  void OnGone(NodePeer& peer) override;
  // Lets the connections of those the relay has acted upon know, but for the one that asks anyway.
  void PokeTouched(const NodePeer* asking);

  EventLoop* loop_;
  Options options_;
  Log log_;
  RefusalLog refusals_;
  ChunkPool payload_chunks_;  // Before the relay and all sessions, which use it.
  relay::Relay relay_;
  std::vector<std::unique_ptr<DiskMount>> disks_;  // After the relay, which owns their tiers.
  std::vector<std::unique_ptr<BucketMount>> buckets_;
  DiskGauges disk_gauges_;
  BucketGauges bucket_gauges_;
  LoopTimer timer_;
  std::map<relay::PeerId, NodePeer*> peers_;
  size_t upstream_sessions_ = 0;  // Of them, those that we have opened.
  bool leaving_ = false;
  // Last: their connections hold peers, which go to the relay.
  std::vector<std::unique_ptr<UpstreamLink>> upstreams_;
  std::unique_ptr<QuicServer> quic_;
};

}  // namespace kvcast
