#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <variant>

#include "kvcast/base/check.h"
#include "kvcast/base/error.h"
#include "kvcast/moqt/codes.h"

namespace kvcast::moqt {

// What a peer did wrong, and how far the consequences go.
//
// The draft says for most faults which code the session is closed with; some only make a track
// malformed, which ends the request, and what passes a limit of ours costs the peer one stream.
class Fault {
 public:
  enum class Scope : uint8_t { kSession, kTrack, kStream };

  static Fault Session(SessionCode code, std::string reason) {
    return {Scope::kSession, static_cast<uint64_t>(code), std::move(reason)};
  }
  static Fault Violation(std::string reason) {
    return Session(SessionCode::kProtocolViolation, std::move(reason));
  }
  static Fault Track(ResetCode code, std::string reason) {
    return {Scope::kTrack, static_cast<uint64_t>(code), std::move(reason)};
  }
  static Fault Stream(ResetCode code, std::string reason) {
    return {Scope::kStream, static_cast<uint64_t>(code), std::move(reason)};
  }
  // Bytes that do not follow their format are a protocol violation unless the draft says otherwise.
  Fault(const Error& error) : Fault(Violation(error.ToString())) {}  // NOLINT: implicit

  Scope scope() const { return scope_; }
  // A SessionCode for a session's fault, otherwise a ResetCode.
  uint64_t code() const { return code_; }
  const std::string& reason() const { return reason_; }

 private:
  Fault(Scope scope, uint64_t code, std::string reason)
      : scope_(scope), code_(code), reason_(std::move(reason)) {}

  Scope scope_;
  uint64_t code_;
  std::string reason_;
};

// What was read from a peer, or its fault. Taken apart with KVCAST_TRY, as a Result is; an error
// of a reader underneath turns into a protocol violation on the way.
template <typename T>
class [[nodiscard]] Decoded {
 public:
  Decoded(T value) : state_(std::in_place_index<0>, std::move(value)) {}         // NOLINT
  Decoded(Fault fault) : state_(std::in_place_index<1>, std::move(fault)) {}     // NOLINT
  Decoded(const Error& error) : state_(std::in_place_index<1>, Fault(error)) {}  // NOLINT

  bool ok() const { return state_.index() == 0; }
  T& operator*() & {
    KVCAST_CHECK(ok());
    return *std::get_if<0>(&state_);
  }
  T&& operator*() && {
    KVCAST_CHECK(ok());
    return std::move(*std::get_if<0>(&state_));
  }
  const T& operator*() const& {
    KVCAST_CHECK(ok());
    return *std::get_if<0>(&state_);
  }
  const T* operator->() const { return &**this; }
  T* operator->() { return &**this; }
  const Fault& error() const& {
    KVCAST_CHECK(!ok());
    return *std::get_if<1>(&state_);
  }
  Fault&& error() && {
    KVCAST_CHECK(!ok());
    return std::move(*std::get_if<1>(&state_));
  }

 private:
  std::variant<T, Fault> state_;
};

template <>
class [[nodiscard]] Decoded<void> {
 public:
  Decoded() : state_(std::in_place_index<0>) {}
  Decoded(Fault fault) : state_(std::in_place_index<1>, std::move(fault)) {}     // NOLINT
  Decoded(const Error& error) : state_(std::in_place_index<1>, Fault(error)) {}  // NOLINT

  bool ok() const { return state_.index() == 0; }
  const Fault& error() const& {
    KVCAST_CHECK(!ok());
    return *std::get_if<1>(&state_);
  }
  Fault&& error() && {
    KVCAST_CHECK(!ok());
    return std::move(*std::get_if<1>(&state_));
  }

 private:
  std::variant<std::monostate, Fault> state_;
};

}  // namespace kvcast::moqt
