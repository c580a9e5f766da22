#pragma once

#include <cstddef>
#include <istream>
#include <string>

#include "kvcast/base/result.h"

namespace kvcast::tinylm {

// The whole file, or why not, with its name.
Result<std::string> ReadFile(const std::string& path, size_t bytes_max = 64 * 1024 * 1024);

// All that is left of a stream.
Result<std::string> ReadAll(std::istream& in, size_t bytes_max);

}  // namespace kvcast::tinylm
