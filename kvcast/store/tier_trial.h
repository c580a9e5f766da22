#pragma once

#include <cstddef>
#include <cstdint>

#include "kvcast/base/time.h"

namespace kvcast {

// A tier below RAM that was to read an object and did not give it: for whoever asks why.
struct TierTrial {
  enum class Outcome : uint8_t {
    kFailed,   // It had it, and could not read it, or what it read is not what it should be.
    kTooLate,  // It had not answered when the patience of who asked was over.
  };

  size_t tier = 0;
  Outcome outcome = Outcome::kFailed;
  Duration took{};
};

}  // namespace kvcast
