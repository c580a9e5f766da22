#pragma once

#include <cstddef>
#include <cstdint>

#include "kvcast/moqt/codec.h"

namespace kvcast::moqt {

// What may still come from the peer on the stream of a request that is over.
struct LateMessages {
  enum class Rule : uint8_t {
    kAny,       // We cancelled it: whatever comes does not matter.
    kNone,      // The peer has said its last.
    kUnderWay,  // We have said ours, which the peer may not have known, or it owes us something.
  };
  Rule rule = Rule::kAny;

  // Of what is under way: where it stands, how many answers are due, what else there may be, and
  // what has come that may come once.
  MessagePlace place;
  size_t answers = 0;
  bool updates = false;
  bool publish_done = false;
  bool said_goaway = false;
};

}  // namespace kvcast::moqt
