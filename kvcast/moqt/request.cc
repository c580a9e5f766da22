#include "kvcast/moqt/request.h"

#include <algorithm>

#include "kvcast/moqt/auth_rules.h"

namespace kvcast::moqt {

Request::~Request() {
  state_->timers.Set({id_, Timers::Kind::kGoAway}, std::nullopt);
  state_->timers.Set({id_, Timers::Kind::kDelivery}, std::nullopt);
  state_->timers.Set({id_, Timers::Kind::kJoin}, std::nullopt);
  state_->timers.Set({id_, Timers::Kind::kTrackEnd}, std::nullopt);
}

Fault Request::Unexpected(const Message& message) {
  return Fault::Violation(std::string(NameOf(KindOf(message))) +
                          " was not expected on its stream.");
}

Decoded<void> Request::Receive(Message message) {
  if (GoAway* away = std::get_if<GoAway>(&message)) {
    return OnGoAway(*away);
  }
  RequestOk* ok = std::get_if<RequestOk>(&message);
  RequestError* error = std::get_if<RequestError>(&message);
  if (!our_updates_.empty() && (ok != nullptr || error != nullptr)) {
    return ok != nullptr ? OnUpdateOk(*ok) : OnUpdateError(*error);
  }
  if (maybe_owed_ > 0 && (ok != nullptr || error != nullptr)) {
    --maybe_owed_;  // The request ends, whatever it says.
    return {};
  }
  if (heard_last_) {
    return Unexpected(message);
  }
  RequestUpdate* update = std::get_if<RequestUpdate>(&message);
  if (update != nullptr && may_be_updated()) {
    return OnRequestUpdate(*update);
  }
  return OnMessage(message);
}

Decoded<void> Request::CheckGoAway(const GoAway& message, Role role, bool& said) {
  if (std::exchange(said, true)) {
    return Fault::Violation("A second GOAWAY came on one request.");
  }
  if (role == Role::kServer && !message.uri.empty()) {
    return Fault::Violation("A client's GOAWAY names no place to go.");
  }
  return {};
}

Decoded<void> Request::OnGoAway(GoAway& message) {
  KVCAST_TRY_VOID(CheckGoAway(message, state_->role, going_away_));
  Tell(GoAwayReceived{id_, std::move(message)});
  return {};
}

Result<void> Request::SendGoAway(std::string uri, uint64_t timeout_ms) {
  if (over_ || sent_all_ || sent_away_ || (state_->role == Role::kClient && !uri.empty())) {
    return Error(ErrorCode::kInvalid, "Goodbye was said, or a client names a place to go.");
  }
  if (uri.size() > kSessionUriBytesMax) {
    return Error(ErrorCode::kTooLarge, "A URI has at most 8,192 bytes.");
  }
  sent_away_ = true;
  Send(GoAway{std::move(uri), timeout_ms, std::nullopt});
  if (timeout_ms > 0) {
    state_->timers.Set({id_, Timers::Kind::kGoAway}, After(state_->now, timeout_ms));
  }
  return {};
}

void Request::OnTimer(Timers::Kind kind) {
  if (kind == Timers::Kind::kGoAway) {
    Fail(static_cast<uint64_t>(ResetCode::kGoingAway), "The peer did not leave in time.");
  }
}

Decoded<void> Request::OnRequestUpdate(RequestUpdate& update) {
  KVCAST_TRY_VOID(state_->requests.NotePeerId(update.request_id));
  KVCAST_TRY_VOID(CheckTokens(update.parameters));
  if (update_refused_) {
    return {};
  }
  const size_t bytes =
      sizeof(TheirUpdate) +
      (update.parameters.namespace_prefix ? KeptOf(*update.parameters.namespace_prefix) : 0);
  std::optional<RequestError> refusal;
  if (their_updates_.size() >= state_->limits.updates_max ||
      state_->request_bytes + bytes > state_->limits.request_bytes) {
    refusal = RequestError{RequestCode::kExcessiveLoad, std::nullopt, "Too many updates wait.",
                           std::nullopt};
  } else {
    refusal = RefusalOfUpdate(update.parameters);
  }
  if (refusal) {
    RefuseUpdates(*refusal);
    return {};
  }
  their_updates_.push_back(
      {WithoutTokens(update.parameters), std::nullopt, KeptBytes(state_->request_bytes, bytes)});
  Tell(UpdateReceived{id_, std::move(update.parameters)});
  return {};
}

Result<void> Request::AcceptUpdate(const Parameters& parameters) {
  const auto oldest =
      std::ranges::find_if(their_updates_, [](const TheirUpdate& each) { return !each.answer; });
  if (over_ || oldest == their_updates_.end()) {
    return Error(ErrorCode::kInvalid, "No update of the request waits for an answer.");
  }
  KVCAST_TRY_VOID(state_->codec.CheckParameters(RequestOk{parameters, {}},
                                                {state_->role, false, kind(), true}));
  oldest->answer = parameters;
  if (!awaits_answer()) {
    AnswerUpdates();
  }
  return {};
}

void Request::AnswerUpdates() {
  while (!over_ && !their_updates_.empty() && their_updates_.front().answer) {
    TheirUpdate update = std::move(their_updates_.front());
    their_updates_.pop_front();
    OnUpdate(update.parameters, *update.answer);
    SendAnswer(RequestOk{*std::move(update.answer), {}});
  }
  OnUpdatesAnswered();
}

Result<void> Request::RefuseUpdate(const RequestError& error) {
  if (over_ || their_updates_.empty()) {
    return Error(ErrorCode::kInvalid, "No update of the request waits for an answer.");
  }
  if (error.code == RequestCode::kRedirect || error.redirect) {
    return Error(ErrorCode::kInvalid, "An update is not redirected.");
  }
  if (awaits_answer()) {
    return Refuse(error);
  }
  RefuseUpdates(error);
  return {};
}

void Request::RefuseUpdates(const RequestError& error) {
  update_refused_ = true;
  their_updates_.clear();
  FailUpdate(error);
}

void Request::FailUpdate(const RequestError& error) {
  Send(error, true);
  Finish();
  TellCancelled(error.reason);
}

Result<RequestId> Request::Update(const Parameters& parameters) {
  if (over_ || sent_all_ || !may_update()) {
    return Error(ErrorCode::kInvalid, "The request cannot be changed, or not yet.");
  }
  if (our_updates_.size() >= state_->limits.updates_max) {
    return Error(ErrorCode::kInvalid, "Too many updates of the request wait for an answer.");
  }
  const RequestId update = state_->requests.next_id();
  KVCAST_TRY(Bytes message, Encode(RequestUpdate{update, parameters}));
  KVCAST_TRY_VOID(CheckUpdate(parameters));
  (void)state_->requests.NextId();
  our_updates_.push_back({update, parameters});
  SendEncoded(std::move(message));
  return update;
}

Decoded<void> Request::OnUpdateOk(RequestOk& ok) {
  const OurUpdate update = std::move(our_updates_.front());
  our_updates_.pop_front();
  OnUpdated(update.parameters);
  Tell(UpdateAccepted{id_, update.id, std::move(ok.parameters)});
  return {};
}

// The peer may answer several with one error; the request ends whichever it was.
Decoded<void> Request::OnUpdateError(RequestError& error) {
  KVCAST_TRY_VOID(CheckRedirect(error));
  const RequestId update = our_updates_.front().id;
  maybe_owed_ += our_updates_.size() - 1;
  our_updates_.clear();
  const std::string reason = error.reason;
  Tell(UpdateRefused{id_, update, std::move(error)});
  OnUpdateRefused(reason);
  return {};
}

void Request::TellCancelled(std::string reason) {
  Tell(RequestCancelled{id_, static_cast<uint64_t>(ResetCode::kCancelled), std::move(reason)});
}

bool Request::is_about_namespace() const {
  return kind() == MessageKind::kSubscribeNamespace || kind() == MessageKind::kPublishNamespace;
}

Decoded<void> Request::CheckRedirect(const RequestError& error) const {
  if (!error.redirect) {
    return {};
  }
  if (state_->role == Role::kServer && !error.redirect->uri.empty()) {
    return Fault::Violation("A client redirects a server to another place.");
  }
  if (is_about_namespace() && !error.redirect->track.name().empty()) {
    return Fault::Violation("A request about a namespace is redirected to a track.");
  }
  return {};
}

Decoded<void> Request::OnError(RequestError& error) {
  KVCAST_TRY_VOID(CheckRedirect(error));
  NoteLastMessage(false);
  Tell(RequestRefused{id_, std::move(error)});
  Finish();
  return {};
}

void Request::OnFin() {
  received_all_ = true;
  if (over_ || MayEndHere()) {
    return;
  }
  Abort(static_cast<uint64_t>(ResetCode::kCancelled));
  TellCancelled("The peer ended its half of the request.");
}

void Request::OnReset(uint64_t code) {
  received_all_ = true;
  if (!over_) {
    Abort(code);
    Tell(RequestCancelled{id_, code, "The peer reset the request."});
  }
}

void Request::OnStopSending(uint64_t code) {
  if (over_) {
    return;
  }
  Abort(code);
  Tell(RequestCancelled{id_, code, "The peer cancelled the request."});
}

void Request::Cancel(ResetCode code) {
  if (!over_) {
    Abort(static_cast<uint64_t>(code));
  }
  if (queue() != nullptr) {
    queue()->Clear();
  }
}

void Request::RefuseAnswer(RequestCode code, std::string reason) {
  if (!over_) {
    Abort(static_cast<uint64_t>(ResetCode::kCancelled));
    Tell(RequestRefused{id_, {code, std::nullopt, std::move(reason), std::nullopt}});
  }
}

void Request::Fail(uint64_t code, std::string reason) {
  if (!over_) {
    Abort(code);
    Tell(RequestCancelled{id_, code, std::move(reason)});
  }
}

void Request::Abort(uint64_t code) {
  cancelled_ = true;
  if (!std::exchange(sent_all_, true)) {
    state_->outbox.Do(ResetStream{stream_, code});
    state_->ledger.Drop(stream_);
  }
  if (!std::exchange(received_all_, true)) {
    state_->outbox.Do(StopSending{stream_, code});
  }
  End(ResetCode::kCancelled);
}

LateMessages Request::late() const {
  using Rule = LateMessages::Rule;
  if (cancelled_) {
    return {};
  }
  const bool is_peers_track = kind() == MessageKind::kPublish && !state_->requests.WasIssued(id_);
  return {heard_last_ && !may_owe_ ? Rule::kNone : Rule::kUnderWay,
          place(),
          our_updates_.size() + maybe_owed_ + (is_owed_answer() ? 1 : 0),
          may_be_updated() && !heard_last_,
          is_peers_track && !heard_last_,
          going_away_};
}

void Request::SendEncoded(Bytes message, bool fin) {
  if (sent_all_) {
    return;
  }
  sent_all_ = fin;
  state_->ledger.Open(stream_, id_);
  state_->ledger.Add(stream_, message.size());
  if (fin) {
    state_->ledger.Finish(stream_);
  }
  state_->outbox.Do(SendBytes{stream_, std::move(message), fin});
}

void Request::SendAnswer(const Message& message) {
  Send(message);
  const Limits& limits = state_->limits;
  if (state_->ledger.message_bytes(stream_) > limits.answer_bytes ||
      state_->ledger.message_bytes() > limits.session_answer_bytes) {
    Fail(static_cast<uint64_t>(ResetCode::kTooFarBehind),
         "The peer does not read what it is told.");
  }
}

void Request::SendFin() { SendEncoded(Bytes(), true); }

void Request::Finish() {
  SendFin();
  End(ResetCode::kCancelled);
}

Result<void> Request::MaySend(const RequestError& error) const {
  if (error.redirect.has_value() != (error.code == RequestCode::kRedirect)) {
    return Error(ErrorCode::kInvalid, "There is a redirect if and only if the code says so.");
  }
  const bool redirectable =
      kind() != MessageKind::kPublish && kind() != MessageKind::kSubscribeTracks;
  if (error.redirect &&
      (!redirectable || (state_->role == Role::kClient && !error.redirect->uri.empty()) ||
       (is_about_namespace() && !error.redirect->track.name().empty()))) {
    return Error(ErrorCode::kInvalid, "The request may not be redirected, or not there.");
  }
  return {};
}

Result<void> Request::Refuse(const RequestError& error) {
  if (over_ || !awaits_answer()) {
    return Error(ErrorCode::kInvalid, "The request does not wait for an answer.");
  }
  KVCAST_TRY_VOID(MaySend(error));
  KVCAST_TRY(Bytes message, state_->codec.Encode(error));
  SendEncoded(std::move(message), true);
  End(ResetCode::kCancelled);
  return {};
}

void Request::End(ResetCode code) {
  if (!std::exchange(over_, true)) {
    state_->timers.Set({id_, Timers::Kind::kGoAway}, std::nullopt);
    state_->timers.Set({id_, Timers::Kind::kTrackEnd}, std::nullopt);
    their_updates_.clear();
    Release(code);
    state_->ended.push_back(id_);
  }
}

}  // namespace kvcast::moqt
