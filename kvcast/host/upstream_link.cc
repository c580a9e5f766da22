#include "kvcast/host/upstream_link.h"

#include <algorithm>
#include <utility>

#include "kvcast/engine/client_setup.h"
#include "kvcast/io/clock.h"

namespace kvcast {
namespace {

// A session that has stood for this long was no mere attempt.
constexpr Duration kStood = std::chrono::seconds(10);
// How many may still be leaving beside the one that stands, and how often it is looked whether they
// have gone.
constexpr size_t kLeavingMax = 4;
constexpr Duration kBuryEvery = std::chrono::milliseconds(500);

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
      timer_(loop, [this] { Begin(); }),
      bury_(loop, [this] { Bury(); }) {
  timer_.Set(Now());
}

UpstreamLink::~UpstreamLink() { closed_ = true; }

void UpstreamLink::Begin() {
  if (closed_) {
    return;
  }
  lost_ = false;
  line_ = {};
  if (places_.empty()) {
    Look();
  } else {
    Connect();
  }
}

void UpstreamLink::Look() {
  lookup_ = std::make_unique<NameLookup>(
      *loop_, target(), [this](NameLookup::Places places) { OnPlaces(std::move(places)); });
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
      ClientSetup(moved_to_ ? moved_to_->authority : options_.address.host_and_port,
                  moved_to_ ? moved_to_->path : "/", options_.address.token);
  NodePeerOwner& owner = *this;
  const auto make_peer = [this, setup, &owner](QuicConnection& connection) {
    auto peer = std::make_unique<NodePeer>(*loop_, PeerLine::Of(connection), moqt::Role::kClient,
                                           setup, limits_, owner);
    line_.peer = peer.get();
    callbacks_.joined(*peer);
    return peer;
  };
  KVCAST_TRY(line_.quic,
             QuicClient::Connect(*loop_, {place, SocketAddress::HostOf(target())}, credentials,
                                 AsRelay(options_.address.quic), make_peer));
  return {};
}

void UpstreamLink::OnInput(NodePeer& peer) {
  const bool is_current = &peer == line_.peer;
  if (is_current && !ready_since_ && line_.quic != nullptr && line_.quic->connection().ready() &&
      !peer.session().closed()) {
    ready_since_ = Now();
    ++connections_;
    last_reason_.clear();
    log_.Info("upstream connected", {{"upstream", options_.name}, {"at", peer.line().from}});
  }
  callbacks_.input(peer);
  if (!is_current) {
    return;
  }
  if (peer.session().goaway() && ready_since_ && !peer.session().closed()) {
    Move(*peer.session().goaway());
  } else if (peer.session().closed()) {
    Lose(peer.last_words().empty() ? "The session is over." : peer.last_words());
  }
}

void UpstreamLink::Move(const moqt::GoAway& goaway) {
  log_.Info("upstream is leaving", {{"upstream", options_.name}, {"for", goaway.uri}});
  const bool stood = Now() >= *ready_since_ + kStood;
  before_.push_back(std::exchange(line_, {}));
  if (before_.size() > kLeavingMax) {
    HangUp(before_.front(), "This node goes on by another session.");
  }
  bury_.Set(Now() + kBuryEvery);
  ready_since_.reset();
  Result<RelayUri> uri = RelayUri::Parse(goaway.uri);
  if (uri.ok()) {
    // Who is there has to prove as much as who sent us.
    moved_to_ = *std::move(uri);
    places_.clear();
    next_place_ = 0;
  } else if (next_place_ >= places_.size()) {
    if (!goaway.uri.empty()) {
      log_.Warning("upstream sends us to no place that can be reached",
                   {{"upstream", options_.name}, {"reason", uri.error().ToString()}});
    }
    next_place_ = 0;
  }
  // One that sends everybody away is not asked again and again.
  if (stood) {
    pause_ = options_.first_pause;
    timer_.Set(Now());
  } else {
    RetryAfter(NextPause());
  }
}

void UpstreamLink::Bury() {
  for (auto line = before_.begin(); line != before_.end();) {
    if (line->quic->gone()) {
      const Line over = std::move(*line);  // It is told of, and no longer among the others.
      line = before_.erase(line);
    } else {
      ++line;
    }
  }
  if (!before_.empty()) {
    bury_.Set(Now() + kBuryEvery);
  }
}

void UpstreamLink::OnGone(NodePeer& peer) {
  for (Line& line : before_) {
    line.peer = line.peer == &peer ? nullptr : line.peer;
  }
  line_.peer = line_.peer == &peer ? nullptr : line_.peer;
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
  // Where we were sent nobody stays for ever: it begins anew where it was.
  if (moved_to_) {
    moved_to_.reset();
    places_ = options_.address.places;
    next_place_ = 0;
    RetryAfter(NextPause());
    return;
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
  RetryAfter(pause_once_ ? *std::exchange(pause_once_, std::nullopt) : NextPause());
}

Duration UpstreamLink::NextPause() {
  return std::exchange(pause_, std::min(pause_ * 2, options_.longest_pause));
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

void UpstreamLink::HangUp(const Line& line, const std::string& reason) {
  if (line.peer != nullptr) {
    line.peer->session().Close(moqt::SessionCode::kNoError, reason);
    line.peer->Poke();
  }
}

void UpstreamLink::Hang(const std::string& reason) {
  for (const Line& line : before_) {
    HangUp(line, reason);
  }
  HangUp(line_, reason);
}

void UpstreamLink::Close() {
  closed_ = true;
  timer_.Stop();
  lookup_.reset();
  Hang("This node has left.");
}

}  // namespace kvcast
