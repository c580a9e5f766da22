#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "kvcast/base/hex.h"
#include "kvcast/moqt/codec.h"

// For tests and fuzzers: messages as hex, and bodies without their frame.
namespace kvcast::moqt {

inline std::string Unhex(std::string_view hex) { return std::string(AsText(*FromHex(hex))); }
inline std::string Hex(const Bytes& bytes) { return ToHex(AsBytes(bytes.ToString())); }
// REQUIRES: the message fits.
inline std::string Hex(const Message& message) {
  return Hex(DefaultCodec().Encode(message).value());
}

// Reads a whole message, frame included, that must be a T.
template <typename T>
Decoded<T> ReadAs(std::string_view message, const MessagePlace& place = {}) {
  Decoded<Message> read = DefaultCodec().Decode(message, place);
  if (!read.ok()) {
    return std::move(read).error();
  }
  return std::get<T>(*std::move(read));
}

// Places on streams.
inline MessagePlace OnControl(Role sender) { return {sender, true, std::nullopt, false}; }
inline MessagePlace Within(MessageKind request) { return {Role::kClient, false, request, false}; }

}  // namespace kvcast::moqt
