#pragma once

#include <string>

#include "kvcast/moqt/fault.h"
#include "kvcast/moqt/session_state.h"

namespace kvcast::moqt {

// The peer's control stream: SETUP, then at most one GOAWAY. It never ends.
class PeerControl {
 public:
  explicit PeerControl(SessionState& state) : state_(&state) {}

  // A stream begins with SETUP. There may be only one.
  Decoded<void> Open();
  // A whole message, as it came.
  Decoded<void> OnFrame(const std::string& frame);

 private:
  Decoded<void> OnGoAway(GoAway& message);

  SessionState* state_;
  bool opened_ = false;
};

}  // namespace kvcast::moqt
