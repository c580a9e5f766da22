#include "kvcast/moqt/request.h"

namespace kvcast::moqt {

Fault Request::Unexpected(const Message& message) {
  return Fault::Violation(std::string(NameOf(KindOf(message))) +
                          " was not expected on its stream.");
}

Decoded<void> Request::Receive(Message message) {
  if (over_) {
    return {};  // It was cancelled; what was under way does not matter.
  }
  if (GoAway* away = std::get_if<GoAway>(&message)) {
    return OnGoAway(*away);
  }
  RequestUpdate* update = std::get_if<RequestUpdate>(&message);
  if (update != nullptr && may_be_updated()) {
    return OnRequestUpdate(*update);
  }
  return OnMessage(message);
}

Decoded<void> Request::OnGoAway(GoAway& message) {
  if (std::exchange(going_away_, true)) {
    return Fault::Violation("A second GOAWAY came on one request.");
  }
  if (state_->role == Role::kServer && !message.uri.empty()) {
    return Fault::Violation("A client's GOAWAY names no place to go.");
  }
  Tell(GoAwayReceived{id_, std::move(message)});
  return {};
}

Decoded<void> Request::OnRequestUpdate(RequestUpdate& update) {
  KVCAST_TRY_VOID(state_->requests.NotePeerId(update.request_id));
  if (const std::optional<RequestError> refusal = RefusalOfUpdate(update.parameters)) {
    Send(*refusal, true);
    Fail(static_cast<uint64_t>(ResetCode::kCancelled), refusal->reason);
    return {};
  }
  OnUpdate(update.parameters);
  if (!sent_all_) {
    Send(RequestOk{UpdateAnswer(), {}});
  }
  Tell(UpdateReceived{id_, std::move(update.parameters)});
  return {};
}

Decoded<void> Request::OnError(RequestError& error) {
  if (error.redirect && state_->role == Role::kServer && !error.redirect->uri.empty()) {
    return Fault::Violation("A client redirects a server to another place.");
  }
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
  Tell(RequestCancelled{id_, static_cast<uint64_t>(ResetCode::kCancelled),
                        "The peer ended its half of the request."});
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

void Request::Fail(uint64_t code, std::string reason) {
  if (!over_) {
    Abort(code);
    Tell(RequestCancelled{id_, code, std::move(reason)});
  }
}

void Request::Abort(uint64_t code) {
  if (!std::exchange(sent_all_, true)) {
    state_->outbox.Do(ResetStream{stream_, code});
  }
  if (!std::exchange(received_all_, true)) {
    state_->outbox.Do(StopSending{stream_, code});
  }
  End(ResetCode::kCancelled);
}

void Request::SendEncoded(Bytes message, bool fin) {
  if (sent_all_) {
    return;
  }
  sent_all_ = fin;
  state_->outbox.Do(SendBytes{stream_, std::move(message), fin});
}

void Request::SendFin() { SendEncoded(Bytes(), true); }

void Request::Finish() {
  SendFin();
  End(ResetCode::kCancelled);
}

Result<void> Request::Refuse(const RequestError& error) {
  if (over_ || !awaits_answer()) {
    return Error(ErrorCode::kInvalid, "The request does not wait for an answer.");
  }
  KVCAST_TRY(Bytes message, state_->codec.Encode(error));
  SendEncoded(std::move(message), true);
  End(ResetCode::kCancelled);
  return {};
}

void Request::End(ResetCode code) {
  if (!std::exchange(over_, true)) {
    Release(code);
    state_->ended.push_back(id_);
  }
}

}  // namespace kvcast::moqt
