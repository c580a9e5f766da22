#include "kvcast/host/upstream_link.h"

#include <algorithm>
#include <utility>

#include "kvcast/engine/client_setup.h"
#include "kvcast/io/clock.h"

namespace kvcast {
namespace {

// A session that has stood for this long was no mere attempt.
constexpr Duration kStood = std::chrono::seconds(10);

// A dead upstream is to be noticed before what it told of misleads many. What is asked of it comes
// on few streams, over a long way as like as not: each may bring what such a way holds.
QuicOptions AsRelay(QuicOptions options) {
  options.stream_credit_bytes = std::max<uint64_t>(options.stream_credit_bytes, 1024 * 1024);
  options.idle_timeout = std::min<Duration>(options.idle_timeout, std::chrono::seconds(10));
  options.keep_alive = std::min<Duration>(options.keep_alive, std::chrono::seconds(3));
  return options;
}

}  // namespace

UpstreamLink::UpstreamLink(EventLoop& loop, Options options, const moqt::Limits& limits,
                           uint64_t seed, Callbacks callbacks, LogSink* log)
    : loop_(&loop),
      options_(std::move(options)),
      limits_(limits),
      random_(seed),
      callbacks_(std::move(callbacks)),
      log_(log, "upstream"),
      places_(options_.address.places),
      pause_(options_.first_pause),
      timer_(loop, [this] { Begin(); }) {
  timer_.Set(Now());
}

UpstreamLink::~UpstreamLink() { closed_ = true; }

void UpstreamLink::Begin() {
  if (closed_) {
    return;
  }
  lost_ = false;
  quic_.reset();
  if (places_.empty()) {
    Look();
  } else {
    Connect();
  }
}

void UpstreamLink::Look() {
  lookup_ = std::make_unique<NameLookup>(
      *loop_, options_.address.host_and_port,
      [this](NameLookup::Places places) { OnPlaces(std::move(places)); });
}

void UpstreamLink::OnPlaces(NameLookup::Places places) {
  lookup_.reset();
  if (!places.ok()) {
    Lose(places.error().ToString());
    return;
  }
  places_ = *std::move(places);
  next_place_ = 0;
  Connect();
}

void UpstreamLink::Connect() {
  const Result<void> connecting = ConnectTo(places_.at(next_place_++));
  if (!connecting.ok()) {
    Lose(connecting.error().ToString());
  }
}

Result<void> UpstreamLink::ConnectTo(const SocketAddress& place) {
  KVCAST_TRY(const ClientCredentials credentials,
             ClientCredentials::Make(options_.address.trust, options_.address.own));
  const moqt::Setup setup =
      ClientSetup(options_.address.host_and_port, "/", options_.address.token);
  NodePeerOwner& owner = *this;
  const auto make_peer = [this, setup, &owner](QuicConnection& connection) {
    auto peer = std::make_unique<NodePeer>(*loop_, PeerLine::Of(connection), moqt::Role::kClient,
                                           setup, limits_, owner);
    peer_ = peer.get();
    callbacks_.joined(*peer);
    return peer;
  };
  KVCAST_TRY(quic_, QuicClient::Connect(
                        *loop_, {place, SocketAddress::HostOf(options_.address.host_and_port)},
                        credentials, AsRelay(options_.address.quic), make_peer));
  return {};
}

void UpstreamLink::OnInput(NodePeer& peer) {
  if (!ready_since_ && quic_ != nullptr && quic_->connection().ready() &&
      !peer.session().closed()) {
    ready_since_ = Now();
    ++connections_;
    last_reason_.clear();
    log_.Info("upstream connected", {{"upstream", options_.name}, {"at", peer.line().from}});
  }
  callbacks_.input(peer);
  if (peer.session().closed()) {
    Lose(peer.last_words().empty() ? "The session is over." : peer.last_words());
  }
}

void UpstreamLink::OnGone(NodePeer& peer) {
  peer_ = nullptr;
  callbacks_.gone(peer);
}

// From within the session perhaps: what is left of the connection goes when the next one begins.
void UpstreamLink::Lose(const std::string& reason) {
  if (closed_ || std::exchange(lost_, true)) {
    return;
  }
  if (reason != last_reason_) {  // Once, however often it is tried.
    log_.Warning("upstream not connected", {{"upstream", options_.name}, {"reason", reason}});
    last_reason_ = reason;
  }
  const bool stood = ready_since_ && Now() >= *ready_since_ + kStood;
  ready_since_.reset();
  if (stood) {
    pause_ = options_.first_pause;
  }
  // Another address of the same name is tried at once.
  if (next_place_ < places_.size() && !pause_once_) {
    timer_.Set(Now());
    return;
  }
  next_place_ = 0;
  if (options_.address.places.empty()) {
    places_.clear();  // The name may lead elsewhere by then.
  }
  RetryAfter(pause_once_ ? *std::exchange(pause_once_, std::nullopt)
                         : std::exchange(pause_, std::min(pause_ * 2, options_.longest_pause)));
}

void UpstreamLink::RetryAfter(Duration pause) {
  const auto half = std::chrono::duration_cast<std::chrono::microseconds>(pause).count() / 2;
  const auto more = random_.Below(static_cast<uint64_t>(std::max<int64_t>(half, 1)) * 2);
  timer_.Set(Now() + std::chrono::microseconds(half + static_cast<int64_t>(more)));
}

void UpstreamLink::LeaveRing() {
  log_.Error("upstream leads back to this node, and is left alone", {{"upstream", options_.name}});
  pause_once_ = options_.ring_pause;
  Hang("What is asked of you comes back.");
}

void UpstreamLink::Hang(const std::string& reason) {
  if (peer_ != nullptr) {
    peer_->session().Close(moqt::SessionCode::kNoError, reason);
    peer_->Poke();
  }
}

void UpstreamLink::Close() {
  closed_ = true;
  timer_.Stop();
  lookup_.reset();
  Hang("This node has left.");
}

}  // namespace kvcast
