#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace kvcast {

// Results of tests as text for programs that collect them: TAP, version 14.
//
// Pure: each function gives the lines to print.
namespace tap {

// "TAP version 14", a comment for each of `about`, and the plan.
std::string Head(const std::vector<std::string>& about, size_t tests);

// One test point, from 1; `notes` follow as a YAML block.
std::string Point(size_t number, bool passed, std::string_view name,
                  const std::vector<std::pair<std::string, std::string>>& notes);
std::string Skipped(size_t number, std::string_view name, std::string_view why);

}  // namespace tap
}  // namespace kvcast
