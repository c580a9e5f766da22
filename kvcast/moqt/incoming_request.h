#pragma once

#include "kvcast/moqt/fault.h"
#include "kvcast/moqt/messages.h"
#include "kvcast/moqt/session_state.h"

namespace kvcast::moqt {

// Makes a request of the first message on a stream that the peer opened, and tells of it, or
// refuses it where no user needs to be asked: when we are leaving, when there are too many, for
// names that are kept for the protocol, for what we do not support. Returns its id.
Decoded<RequestId> OpenIncomingRequest(SessionState& state, StreamId stream, Message message);

}  // namespace kvcast::moqt
