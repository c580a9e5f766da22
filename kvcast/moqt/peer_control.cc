#include "kvcast/moqt/peer_control.h"

#include <string>
#include <utility>

namespace kvcast::moqt {

Decoded<void> PeerControl::Open() {
  if (std::exchange(opened_, true)) {
    return Fault::Violation("The peer opened a second control stream.");
  }
  return {};
}

Decoded<void> PeerControl::OnFrame(const std::string& frame) {
  KVCAST_TRY(Message message,
             state_->codec.Decode(frame, {Other(state_->role), true, std::nullopt, false}));
  Setup* setup = std::get_if<Setup>(&message);
  if (setup != nullptr && !state_->setup_received) {
    state_->setup_received = true;
    for (AuthToken& token : setup->auth_tokens) {  // We keep none, and SETUP could not know.
      token.alias_type = AuthToken::AliasType::kUseValue;
      token.alias = 0;
    }
    state_->outbox.Tell(SetupDone{std::move(*setup)});
    return {};
  }
  if (GoAway* away = std::get_if<GoAway>(&message)) {
    return OnGoAway(*away);
  }
  return Fault::Violation(std::string(NameOf(KindOf(message))) +
                          " was not expected on the control stream.");
}

Decoded<void> PeerControl::OnGoAway(GoAway& message) {
  if (state_->goaway) {
    return Fault::Violation("A second GOAWAY came.");
  }
  if (state_->role == Role::kServer && !message.uri.empty()) {
    return Fault::Violation("A client's GOAWAY names no place to go.");
  }
  if (message.request_id && *message.request_id % 2 != state_->requests.next_id() % 2) {
    return Fault::Session(SessionCode::kInvalidRequestId, "GOAWAY names no request of ours.");
  }
  state_->goaway = message;
  state_->outbox.Tell(GoAwayReceived{std::nullopt, std::move(message)});
  return {};
}

}  // namespace kvcast::moqt
