#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "kvcast/base/log.h"
#include "kvcast/base/random.h"
#include "kvcast/base/time.h"
#include "kvcast/engine/node_address.h"
#include "kvcast/host/node_peer.h"
#include "kvcast/io/event_loop.h"
#include "kvcast/io/name_lookup.h"
#include "kvcast/io/quic_client.h"
#include "kvcast/object/track_name.h"

namespace kvcast {

// A node's session to one of its upstreams, opened again whenever it is lost, for ever: after a
// pause that doubles, and differs from node to node, so that many that have lost the same one do
// not come back as one. Nobody waits for it. Belongs to the loop's thread.
class UpstreamLink : private NodePeerOwner {
 public:
  struct Options {
    std::string name;  // For logs: where it is, without its fingerprint.
    NodeAddress address;
    std::vector<TrackNamespace> prefixes;  // What it is asked for.
    bool hears = true;                     // It is told of what is here.
    bool forgets = true;                   // What it has forgotten is forgotten here, too.
    Duration first_pause = std::chrono::milliseconds(500);
    Duration longest_pause = std::chrono::seconds(30);
    // Until one is tried again that leads back to us.
    Duration ring_pause = std::chrono::minutes(5);
  };
  // Who looks after the session: it takes part from `joined` to `gone`.
  struct Callbacks {
    std::function<void(NodePeer&)> joined;
    std::function<void(NodePeer&)> input;
    std::function<void(NodePeer&)> gone;
  };

  UpstreamLink(EventLoop& loop, Options options, const moqt::Limits& limits, uint64_t seed,
               Callbacks callbacks, LogSink* log);
  ~UpstreamLink() override;
  UpstreamLink(const UpstreamLink&) = delete;
  UpstreamLink& operator=(const UpstreamLink&) = delete;

  const Options& options() const { return options_; }
  bool connected() const { return ready_since_.has_value(); }
  uint64_t connections() const { return connections_; }  // How often it came to that.
  // It leads back to us: it is left alone for long.
  void LeaveRing();
  // For good.
  void Close();

 private:
  void Begin();
  void Look();
  void OnPlaces(NameLookup::Places places);
  void Connect();
  Result<void> ConnectTo(const SocketAddress& place);
  // The session is over, or none could be made.
  void Lose(const std::string& reason);
  void RetryAfter(Duration pause);
  void Hang(const std::string& reason);

  void OnInput(NodePeer& peer) override;
  void OnGone(NodePeer& peer) override;

  EventLoop* loop_;
  Options options_;
  moqt::Limits limits_;
  Random random_;
  Callbacks callbacks_;
  Log log_;
  std::unique_ptr<NameLookup> lookup_;
  std::vector<SocketAddress> places_;
  size_t next_place_ = 0;
  Duration pause_;
  std::optional<Duration> pause_once_;  // Instead of that, the next time.
  std::optional<Instant> ready_since_;
  uint64_t connections_ = 0;
  std::string last_reason_;  // That was logged.
  bool lost_ = true;
  bool closed_ = false;
  LoopTimer timer_;
  NodePeer* peer_ = nullptr;  // The connection's.
  std::unique_ptr<QuicClient>
      quic_;  // Last: its connection holds the peer, which tells of its end.
};

}  // namespace kvcast
