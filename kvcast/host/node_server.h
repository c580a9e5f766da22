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
#include "kvcast/host/node_guests.h"
#include "kvcast/host/node_peer.h"
#include "kvcast/host/peer_identity.h"
#include "kvcast/host/refusal_log.h"
#include "kvcast/host/remote_part.h"
#include "kvcast/host/shard_parcel.h"
#include "kvcast/host/upstream_link.h"
#include "kvcast/io/event_loop.h"
#include "kvcast/io/quic_server.h"
#include "kvcast/relay/relay.h"

namespace kvcast {

// A node on a loop: a QUIC server, a session for every connection, and one relay behind them all.
// Or one shard of a node, which has sessions for the connections of the others as well, as they do
// for its own: docs/design/shards.md. Belongs to the loop's thread.
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
    // Which shard of the node it is, and how it reaches the others.
    ShardLines shard;
  };
  // Opens the directories first, however long that takes while their disks get on with it, and
  // reads the buckets, if they answer; then listens. Machine: the address, or a directory, is not
  // to be had. Unsupported: a directory or a bucket is of a version that we do not know.
  static Result<std::unique_ptr<NodeServer>> Start(EventLoop& loop, const Options& options,
                                                   const ServerCredentials& credentials,
                                                   Metrics& metrics, LogSink* log);
  // The same in two steps, for shards, whose sockets share one port.
  static Result<std::unique_ptr<NodeServer>> Open(EventLoop& loop, const Options& options,
                                                  Metrics& metrics, LogSink* log);
  Result<void> Listen(const ServerCredentials& credentials, UdpSocket socket);
  // So many at the address where the node listens.
  static Result<std::vector<UdpSocket>> BindSockets(const Options& options, size_t count);
  ~NodeServer() override;

  // What another shard has to tell.
  void Take(size_t from, std::vector<ShardParcel>& parcels);
  NodeServer(const NodeServer&) = delete;
  NodeServer& operator=(const NodeServer&) = delete;

  const SocketAddress& local() const { return quic_->local(); }
  const relay::Relay& relay() const { return relay_; }
  relay::Relay& relay() { return relay_; }
  const QuicServer& quic() const { return *quic_; }
  const Options& options() const { return options_; }
  const std::map<relay::PeerId, NodePeer*>& peers() const { return peers_; }
  // Those who came to us; guests from other shards are theirs.
  size_t peer_count() const { return peers_.size() - upstream_sessions_ - guest_count(); }
  size_t guest_count() const { return guests_ ? guests_->size() : 0; }

  // As relay().Forget(), of the node as a whole; what relays below are to be told is kept.
  relay::ForgetReport Forget(const relay::ForgetScope& scope, relay::ForgetMode mode);

  // Call it after the relay was asked for something other than by a peer.
  void OnAsked() { PokeTouched(nullptr); }

  // For peers from now on, and sessions with upstreams: what they are shown, and what they may
  // cost. Limits of the relay hold for all.
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
  void OpenUpstreams();
  void OnStoreInput();
  std::unique_ptr<moqt::TransportUser> Accept(QuicConnection& connection);
  // As one of the sessions that the shards have for it, node_server_shards.cc.
  std::unique_ptr<moqt::TransportUser> AcceptForAll(QuicConnection& connection);
  std::unique_ptr<NodePeer> Admit(PeerLine line, bool is_guest);
  void PassOn(size_t home, const UdpPath& path, std::span<const std::byte> datagram);
  void LeaveRing(size_t upstream, bool tell);
  relay::Credential CredentialOf(const PeerLine& line) const;

  void OnInput(NodePeer& peer) override;
  void OnGone(NodePeer& peer) override;
  // Lets the connections of those the relay has acted upon know, but for the one that asks anyway.
  void PokeTouched(const NodePeer* asking);

  EventLoop* loop_;
  Options options_;
  LogSink* log_sink_;
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
  RemoteParts remote_parts_;      // Of our connections, on other shards,
  uint64_t next_guest_ = 0;       // and what the next connection is called there.
  bool leaving_ = false;
  // Last: their connections hold peers, which go to the relay.
  std::vector<std::unique_ptr<UpstreamLink>> upstreams_;
  std::unique_ptr<NodeGuests> guests_;  // Of others' connections; null: there are no others.
  std::unique_ptr<QuicServer> quic_;
};

}  // namespace kvcast
