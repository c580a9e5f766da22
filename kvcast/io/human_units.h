#pragma once

#include <cstdint>
#include <string>

#include "kvcast/base/time.h"

namespace kvcast {

// Numbers as a person reads them: about three digits, and a unit.

std::string HumanBytes(uint64_t bytes);        // "512 bytes", "1.5 MiB", "136 GiB"
std::string HumanRate(double bytes_per_s);     // "950 MB/s", "1.02 GB/s"
std::string HumanDuration(Duration duration);  // "85 us", "1.2 ms", "45 s", "2 min 5 s"

}  // namespace kvcast
