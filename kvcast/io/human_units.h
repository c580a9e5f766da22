#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "kvcast/base/result.h"
#include "kvcast/base/time.h"

namespace kvcast {

// Numbers as a person reads them: about three digits, and a unit.

std::string HumanBytes(uint64_t bytes);  // "512 bytes", "1.5 MiB", "136 GiB"
// What to write where so many bytes are needed at least: "321MiB".
std::string RoundedUp(uint64_t bytes);
std::string HumanRate(double bytes_per_s);     // "950 MB/s", "1.02 GB/s"
std::string HumanDuration(Duration duration);  // "85 us", "1.2 ms", "45 s", "2 min 5 s"

// And the other way round: "4GiB", "512 MiB", "100000". Invalid: anything else, also 4GB, which
// half of all people take for something else.
Result<uint64_t> ParseBytes(std::string_view text);
// "500ms", "2s", "5 min", "1h". Invalid: anything else, also a number without a unit.
Result<Duration> ParseDuration(std::string_view text);

// As these two read it, and to the last bit: "64MiB", "100000", "1500ms".
std::string ExactBytes(uint64_t bytes);
std::string ExactDuration(Duration duration);

}  // namespace kvcast
