#pragma once

#include <optional>
#include <utility>
#include <variant>

#include "kvcast/base/check.h"
#include "kvcast/base/error.h"

namespace kvcast {

// A value, or why there is none. Neither compiler we support has std::expected.
//
// Absent is not an error: a lookup that may find nothing returns std::optional.
template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}      // NOLINT: implicit
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}  // NOLINT: implicit

  bool ok() const { return state_.index() == 0; }
  explicit operator bool() const { return ok(); }

  // REQUIRES: ok().
  T& value() & {
    KVCAST_CHECK(ok());
    return *std::get_if<0>(&state_);
  }
  const T& value() const& {
    KVCAST_CHECK(ok());
    return *std::get_if<0>(&state_);
  }
  T&& value() && {
    KVCAST_CHECK(ok());
    return std::move(*std::get_if<0>(&state_));
  }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(*this).value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

  // REQUIRES: !ok().
  const Error& error() const& {
    KVCAST_CHECK(!ok());
    return *std::get_if<1>(&state_);
  }
  Error&& error() && {
    KVCAST_CHECK(!ok());
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
  explicit operator bool() const { return ok(); }
  void value() const { KVCAST_CHECK(ok()); }
  const Error& error() const& {
    KVCAST_CHECK(!ok());
    return *error_;
  }
  Error&& error() && {
    KVCAST_CHECK(!ok());
    return std::move(*error_);
  }

 private:
  std::optional<Error> error_;
};

}  // namespace kvcast

#define KVCAST_JOIN_(a, b) a##b
#define KVCAST_JOIN(a, b) KVCAST_JOIN_(a, b)

// KVCAST_TRY(const Header header, Header::Parse(bytes)): go on with the value, or return the error.
#define KVCAST_TRY(declaration, expression) \
  KVCAST_TRY_(declaration, expression, KVCAST_JOIN(kvcast_try_, __LINE__))
#define KVCAST_TRY_(declaration, expression, name) \
  auto name = (expression);                        \
  if (!name.ok()) {                                \
    return std::move(name).error();                \
  }                                                \
  declaration = *std::move(name)

// The same where there is no value to take.
#define KVCAST_TRY_VOID(expression)                         \
  do {                                                      \
    if (auto kvcast_try = (expression); !kvcast_try.ok()) { \
      return std::move(kvcast_try).error();                 \
    }                                                       \
  } while (false)
