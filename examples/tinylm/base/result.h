#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "examples/tinylm/base/check.h"

namespace kvcast::tinylm {

enum class ErrorCode : uint8_t {
  kMalformed,
  kUnsupported,
  kTooLarge,
  kMismatch,
  kNotFound,
  kInvalid,
  kMachine
};

// Why something cannot be done: a sentence for a person, and where the trouble is.
class Error {
 public:
  Error(ErrorCode code, std::string message) : code_(code), message_(std::move(message)) {}

  // In bytes from the start of the input. One that was said before is nearer to the trouble.
  Error At(uint64_t offset) && {
    offset_ = offset_.value_or(offset);
    return std::move(*this);
  }
  // Which file, or part of one; outer names are put in front of inner ones.
  Error In(std::string_view name) && {
    name_ = std::string(name) + (name_.empty() ? "" : ": ") + name_;
    return std::move(*this);
  }

  ErrorCode code() const { return code_; }
  const std::string& message() const { return message_; }
  std::optional<uint64_t> offset() const { return offset_; }
  std::string ToString() const {
    return name_ + (name_.empty() ? "" : ": ") +
           (offset_ ? "byte " + std::to_string(*offset_) + ": " : "") + message_;
  }

 private:
  ErrorCode code_;
  std::string message_;
  std::string name_;
  std::optional<uint64_t> offset_;
};

// A value, or why there is none.
template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}      // NOLINT: implicit
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}  // NOLINT: implicit

  bool ok() const { return state_.index() == 0; }
  // REQUIRES, of what follows: there is one.
  T& operator*() & {
    TINYLM_CHECK(ok());
    return *std::get_if<0>(&state_);
  }
  const T& operator*() const& {
    TINYLM_CHECK(ok());
    return *std::get_if<0>(&state_);
  }
  T&& operator*() && {
    TINYLM_CHECK(ok());
    return std::move(*std::get_if<0>(&state_));
  }
  T* operator->() { return &operator*(); }
  const T* operator->() const { return &operator*(); }
  const Error& error() const& {
    TINYLM_CHECK(!ok());
    return *std::get_if<1>(&state_);
  }
  Error&& error() && {
    TINYLM_CHECK(!ok());
    return std::move(*std::get_if<1>(&state_));
  }

 private:
  std::variant<T, Error> state_;
};

template <>
class [[nodiscard]] Result<void> {
 public:
  Result() = default;
  Result(Error error) : error_(std::move(error)) {}  // NOLINT: implicit

  bool ok() const { return !error_.has_value(); }
  const Error& error() const& {
    TINYLM_CHECK(!ok());
    return *error_;
  }
  Error&& error() && {
    TINYLM_CHECK(!ok());
    return std::move(*error_);
  }

 private:
  std::optional<Error> error_;
};

}  // namespace kvcast::tinylm

#define TINYLM_JOIN_(a, b) a##b
#define TINYLM_JOIN(a, b) TINYLM_JOIN_(a, b)

// TINYLM_TRY(const Config config, Config::Parse(text)): go on with the value, or return the error.
#define TINYLM_TRY(declaration, expression) \
  TINYLM_TRY_(declaration, expression, TINYLM_JOIN(tinylm_try_, __LINE__))
#define TINYLM_TRY_(declaration, expression, name) \
  auto name = (expression);                        \
  if (!name.ok()) {                                \
    return std::move(name).error();                \
  }                                                \
  declaration = *std::move(name)

// The same where there is no value to take.
#define TINYLM_TRY_VOID(expression)                         \
  do {                                                      \
    if (auto tinylm_try = (expression); !tinylm_try.ok()) { \
      return std::move(tinylm_try).error();                 \
    }                                                       \
  } while (false)
