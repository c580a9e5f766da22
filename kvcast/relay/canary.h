#pragma once

#include <cstdint>

#include "kvcast/base/result.h"
#include "kvcast/base/time.h"
#include "kvcast/object/track_name.h"

namespace kvcast::relay {

class Relay;

// Whether a node does what it is there for: publishes a small object to its own relay and fetches
// it, as two sessions would, over a connection of memory.
//
// What it publishes is below a namespace that is nobody else's, is never listed, announced, kept or
// counted, and is gone when it has come back.
class Canary {
 public:
  explicit Canary(Relay& relay) : relay_(&relay) {}

  // All of it at once. An error says how far it came.
  Result<void> Try(Instant now);

  // Where tracks are that none but a canary may publish.
  static bool IsBelow(const TrackNamespace& space);

 private:
  Relay* relay_;
  uint64_t tries_ = 0;  // A name never stands for two contents.
};

}  // namespace kvcast::relay
