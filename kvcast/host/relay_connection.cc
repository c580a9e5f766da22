#include "kvcast/host/relay_connection.h"

#include <algorithm>
#include <type_traits>
#include <utility>
#include <variant>

#include "kvcast/base/hex.h"
#include "kvcast/engine/address_race.h"
#include "kvcast/engine/agreed_codec.h"
#include "kvcast/engine/client_setup.h"
#include "kvcast/host/moq_words.h"
#include "kvcast/io/clock.h"

namespace kvcast {
namespace {

constexpr Duration kCloseFarewell = std::chrono::milliseconds(200);
// Events that are kept while the answer to a request is waited for; a relay could send any number.
constexpr size_t kKeptEventsMax = 100'000;

std::optional<moqt::RequestId> RequestOf(const moqt::Event& event) {
  if (const auto* accepted = std::get_if<moqt::RequestAccepted>(&event)) {
    return accepted->request;
  }
  if (const auto* accepted = std::get_if<moqt::FetchAccepted>(&event)) {
    return accepted->request;
  }
  if (const auto* refused = std::get_if<moqt::RequestRefused>(&event)) {
    return refused->request;
  }
  if (const auto* cancelled = std::get_if<moqt::RequestCancelled>(&event)) {
    return cancelled->request;
  }
  return std::nullopt;
}

// The request of the relay's that the event tells of, if it does.
std::optional<moqt::RequestId> AskedBy(const moqt::Event& event) {
  return std::visit(
      [](const auto& each) -> std::optional<moqt::RequestId> {
        using T = std::decay_t<decltype(each)>;
        if constexpr (std::is_same_v<T, moqt::PublishReceived> ||
                      std::is_same_v<T, moqt::SubscribeReceived> ||
                      std::is_same_v<T, moqt::FetchReceived> ||
                      std::is_same_v<T, moqt::TrackStatusReceived> ||
                      std::is_same_v<T, moqt::SubscribeTracksReceived> ||
                      std::is_same_v<T, moqt::PublishNamespaceReceived> ||
                      std::is_same_v<T, moqt::SubscribeNamespaceReceived>) {
          return each.request;
        } else {
          return std::nullopt;
        }
      },
      event);
}

Result<moqt::Event> AsAnswer(moqt::Event event, const std::string& what) {
  if (const auto* refused = std::get_if<moqt::RequestRefused>(&event)) {
    return Error(ErrorCode::kNotFound, Refusal(what, refused->error));
  }
  if (const auto* cancelled = std::get_if<moqt::RequestCancelled>(&event)) {
    return Error(ErrorCode::kMachine, Cancellation(what, *cancelled));
  }
  return event;
}

}  // namespace

RelayConnection::Options RelayConnection::OptionsOf(const NodeAddress& node) {
  return {RelayUri{node.host_and_port, node.host_and_port, "/", std::nullopt},
          node.trust,
          node.own,
          node.places,
          node.quic,
          node.token};
}

Result<std::unique_ptr<RelayConnection>> RelayConnection::Open(EventLoop& loop,
                                                               const Options& options,
                                                               Instant deadline) {
  Result<std::unique_ptr<RelayConnection>> connection = OpenAny(loop, options, deadline);
  if (!connection.ok()) {
    return std::move(connection).error().In(options.relay.ToString());
  }
  (*connection)->name_ = options.relay.ToString();
  return connection;
}

Result<std::unique_ptr<RelayConnection>> RelayConnection::OpenAny(EventLoop& loop,
                                                                  const Options& options,
                                                                  Instant deadline) {
  std::vector<SocketAddress> places = options.places;
  if (places.empty()) {
    KVCAST_TRY(places, SocketAddress::ResolveAll(options.relay.host_and_port));
  }
  const auto start = [&](const SocketAddress& place) -> Result<std::unique_ptr<RelayConnection>> {
    std::unique_ptr<RelayConnection> connection(new RelayConnection(loop));
    KVCAST_TRY_VOID(connection->Connect(options, place));
    return connection;
  };
  KVCAST_TRY(std::unique_ptr<RelayConnection> connection,
             FirstToAnswer<RelayConnection>(
                 places, deadline, start, [](RelayConnection& each) { return each.IsReady(); },
                 [](RelayConnection& newest, Instant until) { newest.Turn(until); }));
  KVCAST_TRY_VOID(connection->AwaitSetup(deadline));
  return connection;
}

Result<bool> RelayConnection::IsReady() {
  if (quic_->connection().closed()) {
    KVCAST_TRY_VOID(NextOfSession(Now()));  // It says why.
  }
  return quic_->connection().ready();
}

Result<void> RelayConnection::Connect(const Options& options, const SocketAddress& place) {
  KVCAST_TRY(const ClientCredentials credentials,
             ClientCredentials::Make(options.trust, options.own));
  const moqt::Setup setup = ClientSetup(options.relay.authority, options.relay.path, options.token);
  const auto make_session = [this, setup](QuicConnection& connection) {
    auto session = std::make_unique<moqt::Session>(moqt::Role::kClient, setup, moqt::Limits{},
                                                   Now(), AgreedCodec(connection));
    session_ = session.get();
    return session;
  };
  KVCAST_TRY(quic_, QuicClient::Connect(*loop_,
                                        {place, SocketAddress::HostOf(options.relay.host_and_port)},
                                        credentials, options.quic, make_session));
  const ngtcp2_cid id = quic_->connection().first_id();
  connection_id_ = ToHex(std::as_bytes(std::span(id.data, id.datalen)));
  commanded_ = true;
  return {};
}

Result<void> RelayConnection::AwaitSetup(Instant deadline) {
  KVCAST_TRY(const std::optional<moqt::Event> event, NextOfSession(deadline));
  if (!event) {
    return Error(ErrorCode::kMachine,
                 quic_->connection().ready()
                     ? "It speaks " + quic_->connection().alpn() +
                           " over QUIC, but has sent no SETUP in time."
                     : "Nothing answers there in time. Is a relay running, and does UDP get "
                       "through?");
  }
  if (const auto* done = std::get_if<moqt::SetupDone>(&*event)) {
    relay_setup_ = done->peer;
    if (session_->closed()) {
      KVCAST_TRY_VOID(NextOfSession(Now()));  // It was closed in the same breath, and says why.
    }
    return {};
  }
  return Error(ErrorCode::kMalformed, "The relay says something else before SETUP.");
}

RelayConnection::~RelayConnection() { static_cast<void>(Close()); }

moqt::Session& RelayConnection::session() {
  commanded_ = true;
  session_->OnTime(Now());
  return *session_;
}

Result<void> RelayConnection::WatchSignals() {
  KVCAST_TRY(signals_, SignalWatch::Make(*loop_, [this] { interrupted_ = true; }));
  return {};
}

void RelayConnection::Turn(Instant deadline) {
  if (std::exchange(commanded_, false)) {
    quic_->connection().Poke();
  }
  // Before the handshake is over, there may be no session yet.
  std::optional<Instant> due;
  if (session_ != nullptr) {
    due = session_->deadline();
    session_->OnTime(Now());
  }
  const Instant until = due ? std::min(*due, deadline) : deadline;
  loop_->RunOnce(std::max(until - Now(), Duration(0)));
  if (due && *due <= Now() && !session_->closed()) {
    session_->OnTimeout(Now());
    commanded_ = true;
  }
}

std::optional<moqt::Event> RelayConnection::TakeEvent() {
  while (std::optional<moqt::Event> event = session_->NextEvent()) {
    const std::optional<moqt::RequestId> asked = AskedBy(*event);
    if (!asked || !serves_ || serves_(*event)) {
      return event;
    }
    moqt::RequestError no;
    no.code = moqt::RequestCode::kNotSupported;
    (void)session().RefuseRequest(*asked, no).ok();
  }
  return std::nullopt;
}

Error RelayConnection::End(const moqt::SessionClosed& closed) const {
  Error end(ErrorCode::kMachine, Closing(closed));
  return name_.empty() ? end : std::move(end).In(name_);
}

Result<std::optional<moqt::Event>> RelayConnection::NextOfSession(Instant deadline) {
  if (end_) {
    return *end_;
  }
  for (bool first = true;; first = false) {
    std::optional<moqt::Event> event;
    if (session_ != nullptr) {
      event = TakeEvent();
    }
    if (event) {
      if (const auto* closed = std::get_if<moqt::SessionClosed>(&*event)) {
        end_ = End(*closed);
        return *end_;
      }
      return event;
    }
    // What was commanded leaves, however short the wait.
    if (interrupted_ || (Now() >= deadline && !(first && commanded_))) {
      return std::optional<moqt::Event>();
    }
    Turn(deadline);
  }
}

Result<std::optional<moqt::Event>> RelayConnection::Next(Instant deadline) {
  if (!kept_.empty()) {
    std::optional<moqt::Event> event = std::move(kept_.front());
    kept_.pop_front();
    return event;
  }
  return NextOfSession(deadline);
}

Result<moqt::Event> RelayConnection::Answer(moqt::RequestId request, const std::string& what,
                                            Instant deadline) {
  const Instant start = Now();
  const auto kept = std::ranges::find_if(
      kept_, [&](const moqt::Event& event) { return RequestOf(event) == request; });
  if (kept != kept_.end()) {
    moqt::Event event = std::move(*kept);
    kept_.erase(kept);
    return AsAnswer(std::move(event), what);
  }
  while (kept_.size() < kKeptEventsMax) {
    KVCAST_TRY(std::optional<moqt::Event> event, NextOfSession(deadline));
    if (!event) {
      return Error(ErrorCode::kMachine,
                   interrupted_ ? "Interrupted before the relay had answered " + what + "."
                                : NoAnswer(what, Now() - start));
    }
    if (RequestOf(*event) == request) {
      return AsAnswer(*std::move(event), what);
    }
    kept_.push_back(*std::move(event));
  }
  return Error(ErrorCode::kTooLarge,
               "The relay says too much else before it answers " + what + ".");
}

Result<bool> RelayConnection::AwaitDelivery(Instant deadline) {
  const auto delivered = [&] {
    return session_->queued_bytes() == 0 && !commanded_ && quic_->connection().all_delivered();
  };
  while (!delivered()) {
    if (end_) {
      return *end_;
    }
    if (interrupted_ || Now() >= deadline) {
      return false;
    }
    Turn(deadline);
    while (std::optional<moqt::Event> event = TakeEvent()) {
      if (const auto* closed = std::get_if<moqt::SessionClosed>(&*event)) {
        end_ = End(*closed);
      } else if (kept_.size() < kKeptEventsMax) {
        kept_.push_back(*std::move(event));
      }
    }
  }
  return true;
}

bool RelayConnection::Close() {
  if (quic_ == nullptr || session_ == nullptr || quic_->connection().closed()) {
    return false;
  }
  session_->Close(moqt::SessionCode::kNoError, "");
  quic_->connection().Poke();
  const Instant until = Now() + kCloseFarewell;
  while (!quic_->connection().closed() && Now() < until) {
    loop_->RunOnce(until - Now());
  }
  return quic_->connection().closed();
}

}  // namespace kvcast
