#include "kvcast/host/location_argument.h"

#include <charconv>
#include <optional>
#include <system_error>

#include "kvcast/base/hex.h"

namespace kvcast {
namespace {

// Far enough, and what every implementation's varints can hold.
constexpr uint64_t kLastGroup = (uint64_t{1} << 62) - 1;

Error NoLocation(std::string_view text) {
  return {ErrorCode::kInvalid,
          "\"" + Printable(text) +
              "\" is no place in a track: write GROUP or GROUP/OBJECT, and a range as FIRST-LAST, "
              "such as 3-5 or 3/2-5/7."};
}

struct Place {
  uint64_t group = 0;
  std::optional<uint64_t> object;
};

std::optional<uint64_t> Number(std::string_view text) {
  uint64_t number = 0;
  const char* const end = text.data() + text.size();
  const auto [read, error] = std::from_chars(text.data(), end, number);
  return error == std::errc() && read == end && number <= kLastGroup ? std::optional(number)
                                                                     : std::nullopt;
}

std::optional<Place> ParsePlace(std::string_view text) {
  const size_t slash = text.find('/');
  const std::optional<uint64_t> group = Number(text.substr(0, slash));
  if (!group) {
    return std::nullopt;
  }
  if (slash == std::string_view::npos) {
    return Place{*group, std::nullopt};
  }
  const std::optional<uint64_t> object = Number(text.substr(slash + 1));
  return object ? std::optional(Place{*group, object}) : std::nullopt;
}

}  // namespace

Result<Location> ParseLocation(std::string_view text) {
  const std::optional<Place> place = ParsePlace(text);
  if (!place) {
    return NoLocation(text);
  }
  return Location{place->group, place->object.value_or(0)};
}

Result<LocationRange> ParseLocationRange(std::string_view text) {
  const size_t dash = text.find('-');
  const std::optional<Place> first = ParsePlace(text.substr(0, dash));
  if (!first) {
    return NoLocation(text);
  }
  std::optional<Place> last = first;
  if (dash != std::string_view::npos) {
    const std::string_view rest = text.substr(dash + 1);
    last = rest.empty() ? Place{kLastGroup, std::nullopt} : ParsePlace(rest);
  }
  if (!last) {
    return NoLocation(text);
  }
  const LocationRange range{{first->group, first->object.value_or(0)},
                            {last->group, last->object.value_or(LocationRange::kWholeGroup)}};
  if (range.empty()) {
    return Error(ErrorCode::kInvalid, "\"" + Printable(text) + "\" ends before it begins.");
  }
  return range;
}

}  // namespace kvcast
