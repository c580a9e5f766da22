#pragma once

#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "kvcast/base/log.h"
#include "kvcast/base/random.h"
#include "kvcast/base/time.h"
#include "kvcast/engine/node_address.h"
#include "kvcast/host/node_peer.h"
#include "kvcast/host/relay_uri.h"
#include "kvcast/io/event_loop.h"
#include "kvcast/io/name_lookup.h"
#include "kvcast/io/quic_client.h"
#include "kvcast/object/track_name.h"

namespace kvcast {

// A node's session to one of its upstreams, opened again whenever it is lost, for ever: after a
// pause that doubles, and differs from node to node, so that many that have lost the same one do
// not come back as one. Nobody waits for it. When the upstream says that it is leaving, the next
// session is opened at once, beside the one that stands. Belongs to the loop's thread.
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
  // Sessions that another has taken the place of, and at which something is still under way.
  size_t leaving() const { return before_.size(); }
  uint64_t connections() const { return connections_; }  // How often it came to that.
  // For sessions from now on.
  void SetLimits(const moqt::Limits& limits) { limits_ = limits; }
  // It leads back to us: it is left alone for long.
  void LeaveRing();
  // For good.
  void Close();

 private:
  // A connection, and the session on it.
  struct Line {
    NodePeer* peer = nullptr;          // The connection's.
    std::unique_ptr<QuicClient> quic;  // Its connection holds the peer, which tells of its end.
  };

  void Begin();
  // The upstream is leaving: the next session is opened where it says, or at its next address.
  void Move(const moqt::GoAway& goaway);
  // What it is called, and what it is to be asked for, at the moment.
  const std::string& target() const {
    return moved_to_ ? moved_to_->host_and_port : options_.address.host_and_port;
  }
  void Bury();
  void Look();
  void OnPlaces(NameLookup::Places places);
  void Connect();
  Result<void> ConnectTo(const SocketAddress& place);
  // The session is over, or none could be made.
  void Lose(const std::string& reason);
  void RetryAfter(Duration pause);
  Duration NextPause();
  static void HangUp(const Line& line, const std::string& reason);
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
  std::optional<RelayUri> moved_to_;  // The upstream has sent us there, until that is lost.
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
  LoopTimer bury_;
  std::list<Line> before_;  // Until they are over.
  Line line_;               // Last: it tells of its end.
};

}  // namespace kvcast
