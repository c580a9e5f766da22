#include "kvcast/base/json_place.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "kvcast/base/json.h"

namespace kvcast {
namespace {

constexpr std::string_view kBlanks = " \t\r\n";

// Steps over the values of a text that is known to be JSON. At its end it stays there.
class Walk {
 public:
  explicit Walk(std::string_view text) : text_(text) { SkipBlanks(); }

  size_t at() const { return at_; }
  char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  bool done() const { return at_ == text_.size(); }

  // Over one character that is not part of a value.
  void Step() {
    at_ = std::min(at_ + 1, text_.size());
    SkipBlanks();
  }

  void SkipValue() {
    size_t depth = 0;
    do {
      const char first = peek();
      if (first == '"') {
        SkipString();
      } else if (first == '{' || first == '[') {
        ++depth;
        Step();
      } else if (first == '}' || first == ']') {
        depth -= std::min<size_t>(depth, 1);
        Step();
      } else if (first == ',' || first == ':') {
        Step();
      } else {
        at_ = std::min(text_.find_first_of(" \t\r\n,:]}", at_), text_.size());
        SkipBlanks();
      }
    } while (depth > 0 && !done());
  }

  // The key that stands here, without its escapes.
  std::string TakeKey() {
    const size_t begin = at_;
    SkipString();
    const std::string_view raw = text_.substr(begin, end_of_string_ - begin);
    if (raw.find('\\') == std::string_view::npos) {
      return std::string(raw.substr(std::min<size_t>(1, raw.size()), raw.size() - 2));
    }
    const Json key = Json::parse(raw, nullptr, /*allow_exceptions=*/false);
    return key.is_string() ? key.get<std::string>() : std::string();
  }

 private:
  void SkipBlanks() { at_ = std::min(text_.find_first_not_of(kBlanks, at_), text_.size()); }

  void SkipString() {
    size_t end = at_ + 1;
    while (end < text_.size() && text_[end] != '"') {
      end += text_[end] == '\\' ? 2u : 1u;
    }
    at_ = std::min(end + 1, text_.size());
    end_of_string_ = at_;
    SkipBlanks();
  }

  std::string_view text_;
  size_t at_ = 0;
  size_t end_of_string_ = 0;
};

// Goes from an object to its member `key`, whose offset is returned and whose value comes next.
std::optional<size_t> EnterMember(Walk& walk, std::string_view key) {
  walk.Step();  // {
  while (walk.peek() == '"') {
    const size_t begin = walk.at();
    const bool found = walk.TakeKey() == key;
    walk.Step();  // :
    if (found) {
      return begin;
    }
    walk.SkipValue();
    walk.Step();  // , or }
  }
  return std::nullopt;
}

// The same for a list and an index.
std::optional<size_t> EnterElement(Walk& walk, std::string_view index) {
  walk.Step();  // [
  for (size_t i = 0; walk.peek() != ']' && !walk.done(); ++i) {
    if (std::to_string(i) == index) {
      return walk.at();
    }
    walk.SkipValue();
    if (walk.peek() != ',') {
      break;
    }
    walk.Step();
  }
  return std::nullopt;
}

}  // namespace

uint64_t JsonPlace(std::string_view text, std::initializer_list<std::string_view> path) {
  Walk walk(text);
  size_t place = walk.at();
  for (const std::string_view step : path) {
    std::optional<size_t> found;
    if (walk.peek() == '{') {
      found = EnterMember(walk, step);
    } else if (walk.peek() == '[') {
      found = EnterElement(walk, step);
    }
    if (!found) {
      break;
    }
    place = *found;
  }
  return place;
}

}  // namespace kvcast
