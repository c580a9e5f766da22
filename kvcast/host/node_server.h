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
#include "kvcast/host/refusal_log.h"
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
    moqt::Limits session;
    QuicServer::Options quic;
    // Set aside for payloads that come in, and part of relay.ram_bytes; may be empty.
    ChunkMemory payload_memory;
    std::vector<DiskMount::Options> disks;
    std::vector<BucketMount::Options> buckets;
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
  size_t peer_count() const { return peers_.size(); }

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

 private:
  NodeServer(EventLoop& loop, const Options& options, Metrics& metrics, LogSink* log);
  Result<void> OpenDisks(LogSink* log);
  Result<void> OpenBuckets(LogSink* log);
  // Of disks that are being opened.
  uint64_t Progress() const;
  Result<void> AwaitTiers();
  void OnStoreInput();
  std::unique_ptr<moqt::TransportUser> Accept(QuicConnection& connection);

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
  bool leaving_ = false;
  std::unique_ptr<QuicServer> quic_;  // Last: its connections hold peers, which go to the relay.
};

}  // namespace kvcast
