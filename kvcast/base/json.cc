#include "kvcast/base/json.h"

#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace kvcast {
namespace {

// Builds the value out of what the library's reader meets, and refuses what its own builder would
// let pass. That one, watched through the parse callback, looks at all elements of an array after
// each: a megabyte of "{}," took it minutes.
class Builder final : public nlohmann::json_sax<Json> {
 public:
  // `read` is how far the reader has come in `text`.
  Builder(std::string_view text, const size_t* read, const JsonLimits& limits)
      : text_(text), read_(read), limits_(limits) {}

  bool null() override { return Add(nullptr) != nullptr; }
  bool boolean(bool value) override { return Add(value) != nullptr; }
  bool number_integer(int64_t value) override { return Add(value) != nullptr; }
  bool number_unsigned(uint64_t value) override { return Add(value) != nullptr; }
  bool number_float(double value, const std::string& /*text*/) override {
    return Add(value) != nullptr;
  }
  bool string(std::string& value) override { return Add(std::move(value)) != nullptr; }
  bool binary(Json::binary_t& /*value*/) override { return false; }  // JSON has none.

  bool start_object(size_t /*size*/) override { return Enter(Json::object()); }
  bool start_array(size_t /*size*/) override { return Enter(Json::array()); }
  bool end_object() override { return Leave(); }
  bool end_array() override { return Leave(); }
  bool key(std::string& name) override {
    auto& members = open_.back()->get_ref<Json::object_t&>();
    const auto [member, is_new] = members.emplace(std::move(name), nullptr);
    if (!is_new) {
      return Refuse(
          Error(ErrorCode::kMalformed, "A key stands twice in one object.").At(StringBegin()));
    }
    member_ = &member->second;
    return true;
  }

  bool parse_error(size_t position, const std::string& /*token*/,
                   const Json::exception& error) override {
    constexpr int kOutOfRange = 406;
    if (error.id == kOutOfRange) {
      return Refuse(Error(ErrorCode::kMalformed, "A number is out of range.").At(NumberBegin()));
    }
    return Refuse(
        Error(ErrorCode::kMalformed, "This is not JSON.").At(position > 0 ? position - 1 : 0));
  }

  Json TakeValue() { return std::move(value_); }
  Error TakeError() { return std::move(*error_); }

 private:
  bool Refuse(Error error) {
    error_ = std::move(error);
    return false;
  }

  // Where the next value goes.
  Json* Place() {
    if (open_.empty()) {
      return &value_;
    }
    if (open_.back()->is_array()) {
      return &open_.back()->get_ref<Json::array_t&>().emplace_back();
    }
    return member_;
  }

  // Where it is now; null if there are too many.
  Json* Add(Json value) {
    if (++values_ > limits_.values_max) {
      Refuse(Error(ErrorCode::kTooLarge,
                   "This JSON has more than " + std::to_string(limits_.values_max) + " values.")
                 .At(*read_ - 1));
      return nullptr;
    }
    Json* const place = Place();
    *place = std::move(value);
    return place;
  }

  bool Enter(Json empty) {
    if (open_.size() >= limits_.depth_max) {
      return Refuse(Error(ErrorCode::kTooLarge, "Objects and arrays are nested more than " +
                                                    std::to_string(limits_.depth_max) + " deep.")
                        .At(*read_ - 1));
    }
    Json* const place = Add(std::move(empty));
    if (place == nullptr) {
      return false;
    }
    open_.push_back(place);  // It stays where it is: its parent does not grow before it has ended.
    return true;
  }
  bool Leave() {
    open_.pop_back();
    return true;
  }

  // Of the string that the reader has just read: back to a quote without a backslash before it.
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

  // Of the number at whose end the reader has stopped, one character past it if there is one.
  size_t NumberBegin() const {
    constexpr std::string_view kOfNumbers = "+-.0123456789Ee";
    const size_t last = text_.substr(0, *read_).find_last_of(kOfNumbers);
    const size_t before = text_.substr(0, last).find_last_not_of(kOfNumbers);
    return before == std::string_view::npos ? 0 : before + 1;
  }

  std::string_view text_;
  const size_t* read_;
  JsonLimits limits_;
  Json value_;
  std::vector<Json*> open_;  // Objects and arrays that have not ended, each within the one before.
  Json* member_ = nullptr;   // Of the innermost one, whose key has been read.
  size_t values_ = 0;
  std::optional<Error> error_;
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
  Builder builder(text, &read, limits);
  if (!Json::sax_parse(Cursor(text.data(), &read), Cursor(text.data() + text.size(), &read),
                       &builder)) {
    return builder.TakeError();
  }
  return builder.TakeValue();
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
