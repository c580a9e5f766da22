#include "kvcast/moqt/request.h"

namespace kvcast::moqt {

Fault Request::Unexpected(const Frame& frame) {
  return Fault::Violation("Message " + std::to_string(frame.type) +
                          " was not expected on its stream.");
}

Decoded<void> Request::OnFrame(const Frame& frame) {
  if (over_) {
    return {};  // It was cancelled; what was under way does not matter.
  }
  if (frame.Is(MessageType::kGoAway)) {
    return OnGoAway(frame);
  }
  if (frame.Is(MessageType::kRequestUpdate)) {
    const std::optional<ParameterScope> scope = update_scope();
    return scope ? OnRequestUpdate(frame, *scope) : Decoded<void>(Unexpected(frame));
  }
  return OnMessage(frame);
}

Decoded<void> Request::OnGoAway(const Frame& frame) {
  KVCAST_TRY(GoAway message, GoAway::Decode(frame.body, false));
  if (std::exchange(going_away_, true)) {
    return Fault::Violation("A second GOAWAY came on one request.");
  }
  if (state_->role == Role::kServer && !message.uri.empty()) {
    return Fault::Violation("A client's GOAWAY names no place to go.");
  }
  Tell(GoAwayReceived{id_, std::move(message)});
  return {};
}

Decoded<void> Request::OnRequestUpdate(const Frame& frame, ParameterScope scope) {
  KVCAST_TRY(RequestUpdate update, RequestUpdate::Decode(frame.body, scope));
  KVCAST_TRY_VOID(state_->requests.NotePeerId(update.request_id));
  if (const std::optional<RequestError> refusal = RefusalOfUpdate(update.parameters)) {
    Send(refusal->Encode().value(), true);
    Fail(static_cast<uint64_t>(ResetCode::kCancelled), refusal->reason);
    return {};
  }
  OnUpdate(update.parameters);
  if (!sent_all_) {
    Send(RequestOk{UpdateAnswer(), {}}.Encode().value());
  }
  Tell(UpdateReceived{id_, std::move(update.parameters)});
  return {};
}

Decoded<void> Request::OnError(const Frame& frame) {
  KVCAST_TRY(RequestError error, RequestError::Decode(frame.body));
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

void Request::Send(Bytes message, bool fin) {
  if (sent_all_) {
    return;
  }
  sent_all_ = fin;
  state_->outbox.Do(SendBytes{stream_, std::move(message), fin});
}

void Request::SendFin() { Send(Bytes(), true); }

void Request::Finish() {
  SendFin();
  End(ResetCode::kCancelled);
}

Result<void> Request::Refuse(const RequestError& error) {
  if (over_ || !awaits_answer()) {
    return Error(ErrorCode::kInvalid, "The request does not wait for an answer.");
  }
  KVCAST_TRY(Bytes message, error.Encode());
  Send(std::move(message), true);
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
