#include "kvcast/base/json.h"

#include <cmath>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

namespace kvcast {
namespace {

// Builds the value as the library's own parser would, and refuses what it would let pass. Deriving
// from the DOM builder is not part of the library's interface, so this watches through the parse
// callback and throws what ParseJson() catches.
class Watch {
 public:
  // `read` is how far the parser has come in `text`.
  Watch(std::string_view text, const size_t* read, size_t depth_max)
      : text_(text), read_(read), depth_max_(depth_max) {}

  bool operator()(int depth, Json::parse_event_t event, const Json& parsed) {
    switch (event) {
      case Json::parse_event_t::object_start:
        Enter(depth);
        keys_.emplace_back();
        break;
      case Json::parse_event_t::array_start:
        Enter(depth);
        break;
      case Json::parse_event_t::object_end:
        keys_.pop_back();
        break;
      case Json::parse_event_t::key:
        if (!keys_.back().insert(parsed.get_ref<const std::string&>()).second) {
          throw Error(ErrorCode::kMalformed, "A key stands twice in one object.").At(StringBegin());
        }
        break;
      case Json::parse_event_t::array_end:
      case Json::parse_event_t::value:
        break;
    }
    return true;
  }

 private:
  void Enter(int depth) const {
    if (static_cast<size_t>(depth) >= depth_max_) {
      throw Error(ErrorCode::kTooLarge, "Objects and arrays are nested more than " +
                                            std::to_string(depth_max_) + " deep.")
          .At(*read_ - 1);
    }
  }

  // Of the string that the parser has just read: back to a quote without a backslash before it.
  size_t StringBegin() const {
    size_t at = *read_ - 1;
    size_t escapes = 0;
    do {
      at = text_.rfind('"', at - 1);
      const size_t before = at == 0 ? std::string_view::npos : text_.find_last_not_of('\\', at - 1);
      escapes = at - (before == std::string_view::npos ? 0 : before + 1);
    } while (escapes % 2 != 0);
    return at;
  }

  std::string_view text_;
  const size_t* read_;
  size_t depth_max_;
  std::vector<std::set<std::string>> keys_;
};

// An input iterator that remembers how far the parser has come, for errors of our own.
class Cursor {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  Cursor(const char* at, size_t* read) : at_(at), read_(read) {}
  const char& operator*() const { return *at_; }
  Cursor& operator++() {
    ++at_;
    ++*read_;
    return *this;
  }
  Cursor operator++(int) {
    Cursor before = *this;
    ++*this;
    return before;
  }
  friend bool operator!=(const Cursor& a, const Cursor& b) { return a.at_ != b.at_; }

 private:
  const char* at_;
  size_t* read_;
};

// Of the number at whose end the parser has stopped, one character past it if there is one.
size_t NumberBegin(std::string_view text, size_t read) {
  constexpr std::string_view kOfNumbers = "+-.0123456789Ee";
  const size_t last = text.substr(0, read).find_last_of(kOfNumbers);
  const size_t before = text.substr(0, last).find_last_not_of(kOfNumbers);
  return before == std::string_view::npos ? 0 : before + 1;
}

}  // namespace

Result<Json> ParseJson(std::string_view text, const JsonLimits& limits) {
  if (text.size() > limits.bytes_max) {
    return Error(ErrorCode::kTooLarge, "This JSON has " + std::to_string(text.size()) +
                                           " bytes; at most " + std::to_string(limits.bytes_max) +
                                           " are read.");
  }
  // The library would skip a byte order mark and take a NUL for the end.
  if (text.starts_with("\xef\xbb\xbf")) {
    return Error(ErrorCode::kMalformed, "JSON does not begin with a byte order mark.").At(0);
  }
  if (const size_t nul = text.find('\0'); nul != std::string_view::npos) {
    return Error(ErrorCode::kMalformed, "JSON has no NUL bytes.").At(nul);
  }
  size_t read = 0;
  try {
    return Json::parse(Cursor(text.data(), &read), Cursor(text.data() + text.size(), &read),
                       Watch(text, &read, limits.depth_max));
  } catch (const Json::parse_error& error) {
    return Error(ErrorCode::kMalformed, "This is not JSON.")
        .At(error.byte > 0 ? error.byte - 1 : 0);
  } catch (const Json::exception&) {  // A number out of range.
    return Error(ErrorCode::kMalformed, "A number is out of range.").At(NumberBegin(text, read));
  } catch (Error& error) {
    return std::move(error);
  }
}

Result<std::optional<uint64_t>> JsonCount(const Json& object, std::string_view key) {
  const auto found = object.find(key);
  if (found == object.end() || found->is_null()) {
    return std::optional<uint64_t>();
  }
  if (found->is_number_unsigned()) {
    return std::optional<uint64_t>(found->get<uint64_t>());
  }
  if (found->is_number_integer() && found->get<int64_t>() == 0) {  // -0
    return std::optional<uint64_t>(0);
  }
  constexpr double kExactMax = 9007199254740992.0;  // 2^53
  const double number = found->is_number_float() ? found->get<double>() : -1;
  if (number >= 0 && number <= kExactMax && std::trunc(number) == number) {
    return std::optional<uint64_t>(static_cast<uint64_t>(number));
  }
  return Error(ErrorCode::kMalformed,
               "\"" + std::string(key) + "\" must be a whole number that is not negative.");
}

}  // namespace kvcast
