#include "kvcast/kv/canonical_value.h"

#include <bit>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <string_view>

namespace kvcast {
namespace {

template <typename T>
void AddNumber(std::string& out, T number) {
  for (size_t i = 0; i < sizeof(T); ++i) {
    out += static_cast<char>(number >> (8 * i));
  }
}

void AddText(std::string& out, std::string_view text) {
  AddNumber(out, static_cast<uint32_t>(text.size()));
  out += text;
}

void AddDouble(std::string& out, double number) {
  constexpr double kExactMax = 9007199254740992.0;  // 2^53
  if (std::abs(number) <= kExactMax && std::trunc(number) == number) {
    out += 'i';
    AddNumber(out, static_cast<uint64_t>(static_cast<int64_t>(number)));
  } else {
    out += 'd';
    AddNumber(out, std::bit_cast<uint64_t>(number));
  }
}

void AddUnsigned(std::string& out, uint64_t number) {
  out += number <= static_cast<uint64_t>(std::numeric_limits<int64_t>::max()) ? 'i' : 'u';
  AddNumber(out, number);
}

// Recursion is bounded by the depth ParseJson() accepts.
void Add(std::string& out, const Json& value) {
  if (value.is_object()) {
    // The library keeps members in the order of their keys' bytes, which is the one we want.
    out += 'o';
    AddNumber(out, static_cast<uint32_t>(value.size()));
    for (const auto& member : value.items()) {
      AddText(out, member.key());
      Add(out, member.value());
    }
  } else if (value.is_array()) {
    out += 'a';
    AddNumber(out, static_cast<uint32_t>(value.size()));
    for (const Json& element : value) {
      Add(out, element);
    }
  } else if (value.is_string()) {
    out += 's';
    AddText(out, value.get_ref<const std::string&>());
  } else if (value.is_number_float()) {
    AddDouble(out, value.get<double>());
  } else if (value.is_number_unsigned()) {
    AddUnsigned(out, value.get<uint64_t>());
  } else if (value.is_number_integer()) {
    out += 'i';
    AddNumber(out, static_cast<uint64_t>(value.get<int64_t>()));
  } else {
    out += value.is_null() ? 'n' : value.get<bool>() ? 't' : 'f';
  }
}

}  // namespace

std::string CanonicalValue(const Json& value) {
  std::string out;
  Add(out, value);
  return out;
}

}  // namespace kvcast
