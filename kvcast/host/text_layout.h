#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace kvcast {

// What terminals are wide enough for, and eyes comfortable with.
inline constexpr size_t kTextColumns = 90;

// Breaks `text` between words, so that no line passes `columns`, and puts `indent` spaces before
// every line but the first, which continues a line on which `indent` columns are already used.
// Line breaks in the text stay; a word that is too long gets a line of its own. No newline at the
// end.
std::string Wrapped(std::string_view text, size_t indent, size_t columns = kTextColumns);

// The same as Harmless(), of a text whose line breaks are ours.
std::string HarmlessLines(std::string_view text);

// Text with spaces after it, up to `columns`.
std::string Padded(std::string_view text, size_t columns);

}  // namespace kvcast
