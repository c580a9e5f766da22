#include "kvcast/engine/node_link.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "kvcast/base/check.h"
#include "kvcast/engine/client_setup.h"
#include "kvcast/io/clock.h"
#include "kvcast/io/entropy.h"

namespace kvcast {
namespace {

// A dead node is to be noticed before an engine has waited for it often. And whoever asks for
// megabytes on a stream lets its node send what a link of 200 Mbit/s and 40 ms holds: to begin with
// less costs round trips until the window has grown, on every load.
QuicOptions AsEngine(QuicOptions options) {
  options.stream_credit_bytes = std::max<uint64_t>(options.stream_credit_bytes, 1024 * 1024);
  options.idle_timeout = std::min<Duration>(options.idle_timeout, std::chrono::seconds(10));
  options.keep_alive = std::min<Duration>(options.keep_alive, std::chrono::seconds(3));
  return options;
}

uint64_t RandomSeed() {
  uint64_t seed = 0;
  FillRandom(std::as_writable_bytes(std::span(&seed, 1)));
  return seed;
}

// What is known of a node, and what was prefetched, stays so for the session after this one.
ClientOptions WithMemory(ClientOptions options) {
  if (options.paces == nullptr) {
    options.paces = std::make_shared<PaceBook>();
  }
  if (options.shelf == nullptr) {
    options.shelf = std::make_shared<BlockShelf>(options.prefetch_bytes_max);
  }
  return options;
}

}  // namespace

NodeLink::NodeLink(EventLoop& loop, std::vector<NodeAddress> addresses,
                   const ClientOptions& options, std::function<void(const ClientEvent&)> tell,
                   const std::optional<First>& first)
    : loop_(&loop),
      addresses_(std::move(addresses)),
      options_(WithMemory(options)),
      tell_(std::move(tell)),
      random_(RandomSeed()),
      timer_(loop, [this] { Begin(); }),
      answer_timer_(loop, [this] { LookForAnswer(); }) {
  KVCAST_CHECK(!addresses_.empty());
  if (first) {
    node_ = first->node;
    places_ = {first->place};
    once_ = true;
  }
  timer_.Set(Now());
}

NodeLink::~NodeLink() { closed_ = true; }

void NodeLink::Begin() {
  if (closed_) {
    return;
  }
  lost_ = false;
  quic_.reset();
  if (next_place_ < places_.size()) {
    Connect();
  } else if (!addresses_[node_].places.empty()) {
    OnPlaces(addresses_[node_].places);
  } else {
    lookup_ = std::make_unique<NameLookup>(
        *loop_, addresses_[node_].host_and_port,
        [this](NameLookup::Places places) { OnPlaces(std::move(places)); });
  }
}

void NodeLink::OnPlaces(NameLookup::Places places) {
  lookup_.reset();
  if (!places.ok()) {
    Lose(places.error().ToString());
    return;
  }
  places_ = *std::move(places);
  next_place_ = 0;
  Connect();
}

void NodeLink::Connect() {
  const Result<void> connecting = ConnectTo(places_.at(next_place_++));
  if (!connecting.ok()) {
    Lose(connecting.error().ToString());
  } else if (HasAnother()) {
    answer_timer_.Set(Now() + kAnswerWithin);
  }
}

bool NodeLink::HasAnother() const {
  return !once_ && (addresses_.size() > 1 || next_place_ < places_.size());
}

// Not for long catalogs: only who says nothing at all is left.
void NodeLink::LookForAnswer() {
  if (!lost_ && !ready_ && quic_ != nullptr && !quic_->connection().ready()) {
    Lose("The node does not answer.");
  }
}

Result<void> NodeLink::ConnectTo(const SocketAddress& place) {
  const NodeAddress& address = addresses_[node_];
  KVCAST_TRY(const ClientCredentials credentials,
             ClientCredentials::Make(address.trust, address.own));
  ++number_;
  const moqt::Setup setup = ClientSetup(address.host_and_port, "/", address.token);
  KVCAST_TRY(quic_, QuicClient::Connect(
                        *loop_, {place, SocketAddress::HostOf(address.host_and_port)}, credentials,
                        AsEngine(address.quic), [this, setup](QuicConnection& connection) {
                          auto session = std::make_unique<NodeSession>(
                              *loop_, connection, setup, options_,
                              [this](const ClientEvent& event) { OnEvent(event); });
                          session_ = session.get();
                          return session;
                        }));
  return {};
}

void NodeLink::OnEvent(const ClientEvent& event) {
  if (lost_ && std::holds_alternative<NodeReady>(event)) {
    return;  // It was left, and is too late.
  }
  if (std::holds_alternative<NodeReady>(event)) {
    ready_ = true;
    pause_ = kFirstPause;
    failed_ = 0;
    once_ = false;
    places_.clear();  // When it is lost, the name may lead elsewhere.
  }
  if (const auto* lost = std::get_if<NodeLost>(&event)) {
    Lose(lost->reason);
    return;  // It has been told.
  }
  tell_(event);
}

// From within the session perhaps: what is left of the connection goes when the next one begins.
void NodeLink::Lose(const std::string& reason) {
  ready_ = false;
  session_ = nullptr;
  answer_timer_.Stop();
  if (closed_ || std::exchange(lost_, true)) {
    return;
  }
  tell_(NodeLost{reason});
  if (once_) {
    return;
  }
  if (next_place_ < places_.size()) {
    timer_.Set(Now());  // Another address of the same name.
    return;
  }
  places_.clear();
  node_ = (node_ + 1) % addresses_.size();
  if (++failed_ < addresses_.size()) {
    timer_.Set(Now());  // Another node.
    return;
  }
  failed_ = 0;
  const auto half = std::chrono::duration_cast<std::chrono::microseconds>(pause_).count() / 2;
  pause_ = std::min(pause_ * 2, kLongestPause);
  timer_.Set(Now() + std::chrono::microseconds(half) +
             std::chrono::microseconds(random_.Below(static_cast<uint64_t>(half) + 1)));
}

void NodeLink::Close() {
  closed_ = true;
  timer_.Stop();
  answer_timer_.Stop();
  lookup_.reset();
  ready_ = false;
  if (quic_ != nullptr) {
    quic_->connection().Close(0, "The engine is done.");
  }
}

}  // namespace kvcast
