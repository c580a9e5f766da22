#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace kvcast {

// The word that was probably meant: the nearest of `known`, unless none is near enough to be more
// than a guess.
std::optional<std::string> Suggestion(std::string_view word, std::span<const std::string> known);

}  // namespace kvcast
