#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

namespace kvcast {

// What the kernel says in a file of /proc or /sys, without the newline at its end. Absent where
// there is no such file, as in many containers, or where it may not be read.
std::optional<std::string> KernelSetting(const std::filesystem::path& path);

// The same where it is a number that is not negative.
std::optional<uint64_t> KernelNumber(const std::filesystem::path& path);

}  // namespace kvcast
