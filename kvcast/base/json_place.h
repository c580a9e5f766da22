#pragma once

#include <cstdint>
#include <initializer_list>
#include <string_view>

namespace kvcast {

// Where in a JSON text a value stands, for errors that are found once it is parsed: the offset of
// a member's key, or of a list's element. A path goes from the outside in, by keys and by indexes
// in decimal: {"cases", "3", "name"}. What is missing stands where it should have been: in the
// innermost thing on its path that is there.
//
// Reads the text again, so that those who find no fault pay nothing.
// REQUIRES: ParseJson() accepted the text. For any other the answer means nothing, but it is an
// offset within the text.
uint64_t JsonPlace(std::string_view text, std::initializer_list<std::string_view> path);

}  // namespace kvcast
