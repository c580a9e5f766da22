#pragma once

#include "kvcast/moqt/fault.h"
#include "kvcast/moqt/frame.h"
#include "kvcast/moqt/session_state.h"

namespace kvcast::moqt {

// The peer's control stream: SETUP, then at most one GOAWAY. It never ends.
class PeerControl {
 public:
  explicit PeerControl(SessionState& state) : state_(&state) {}

  // A stream begins with SETUP. There may be only one.
  Decoded<void> Open();
  Decoded<void> OnFrame(const Frame& frame);

 private:
  Decoded<void> OnGoAway(const Frame& frame);

  SessionState* state_;
  bool opened_ = false;
};

}  // namespace kvcast::moqt
