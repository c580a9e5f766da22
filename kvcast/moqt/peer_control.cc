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

Decoded<void> PeerControl::OnFrame(const Frame& frame) {
  if (frame.Is(MessageType::kSetup) && !state_->setup_received) {
    KVCAST_TRY(Setup setup, Setup::Decode(frame.body, Other(state_->role)));
    state_->setup_received = true;
    state_->outbox.Tell(SetupDone{std::move(setup)});
    return {};
  }
  if (frame.Is(MessageType::kGoAway)) {
    return OnGoAway(frame);
  }
  return Fault::Violation("Message " + std::to_string(frame.type) +
                          " was not expected on the control stream.");
}

Decoded<void> PeerControl::OnGoAway(const Frame& frame) {
  KVCAST_TRY(GoAway message, GoAway::Decode(frame.body, true));
  if (std::exchange(state_->going_away, true)) {
    return Fault::Violation("A second GOAWAY came.");
  }
  if (state_->role == Role::kServer && !message.uri.empty()) {
    return Fault::Violation("A client's GOAWAY names no place to go.");
  }
  if (*message.request_id % 2 != state_->requests.next_id() % 2) {
    return Fault::Session(SessionCode::kInvalidRequestId, "GOAWAY names no request of ours.");
  }
  state_->outbox.Tell(GoAwayReceived{std::nullopt, std::move(message)});
  return {};
}

}  // namespace kvcast::moqt
