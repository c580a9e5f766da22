#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "kvcast/base/time.h"

namespace kvcast::relay {

// Somebody who was asked for what is not here, and did not give it.
struct UpstreamTrial {
  enum class Outcome : uint8_t {
    kUnknown,       // It does not know, either.
    kRefused,       // It says that there is no such track, or that we may not.
    kBrokenOff,     // It began, and did not go on.
    kTooLate,       // It brought nothing for too long.
    kGone,          // Its session has ended.
    kNotConnected,  // It could not even be asked.
  };
  static constexpr size_t kKeptMax = 8;  // Of one fetch.

  std::string upstream;  // As it is configured, or "peer 7" for one that came to us.
  Outcome outcome = Outcome::kUnknown;
  Duration took{};
};

// As pages have it: "too_late".
std::string_view NameOf(UpstreamTrial::Outcome outcome);

}  // namespace kvcast::relay
