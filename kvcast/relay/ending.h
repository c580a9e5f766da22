#pragma once

#include "kvcast/base/time.h"
#include "kvcast/relay/audience.h"

namespace kvcast::relay {

// When something of a peer's ends, if nothing else ends it before: what it was asked for, what it
// waits for, or what it was allowed.
struct Ending {
  Instant at;
  PeerId peer = 0;
  moqt::RequestId request = 0;

  friend auto operator<=>(const Ending&, const Ending&) = default;
};

}  // namespace kvcast::relay
