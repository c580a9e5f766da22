#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "kvcast/kv/prefix_chain.h"

namespace kvcast {

// What became of a value that was to be put, got or looked up.
enum class ValueOutcome : uint8_t {
  kPending,    // Nothing yet.
  kLoaded,     // Got: every byte is in its place, checked.
  kStored,     // Put: the node holds it, and as durably as was asked.
  kHeld,       // Put or looked up: the node held it already.
  kAbsent,     // Nobody has it, as far as is known; or not any more.
  kDamaged,    // What came was not what was stored.
  kOtherSize,  // The value is there, and not as long as its place.
  kTooLate,    // The deadline passed first.
  kRefused,    // The node would not give it, take it or keep it.
  kCancelled,  // The caller no longer wanted it.
  kNodeLost,   // There is no session to the node.
  kInvalid,    // Not a key, or not a place in registered memory.
};

std::string_view ToString(ValueOutcome outcome);
// Whether it is what was asked for.
constexpr bool IsGood(ValueOutcome outcome) {
  return outcome == ValueOutcome::kLoaded || outcome == ValueOutcome::kStored ||
         outcome == ValueOutcome::kHeld;
}

// A value that is to be put: where its bytes are.
struct ValueSource {
  BlockHash name;
  std::span<const std::byte> bytes;
};
// A value that is to be got: where its bytes go, and so how many they are.
struct ValuePlace {
  BlockHash name;
  std::span<std::byte> bytes;
};

}  // namespace kvcast
