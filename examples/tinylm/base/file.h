#pragma once

#include <cstddef>
#include <filesystem>
#include <string>

#include "examples/tinylm/base/result.h"

namespace kvcast::tinylm {

// All of a file, of at most so many bytes.
Result<std::string> ReadFile(const std::filesystem::path& path, size_t bytes_max);
// The same of standard input.
Result<std::string> ReadStandardInput(size_t bytes_max);

}  // namespace kvcast::tinylm
