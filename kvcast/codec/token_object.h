#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "kvcast/base/bytes.h"
#include "kvcast/base/result.h"
#include "kvcast/kv/rung.h"

namespace kvcast {

// What stands in front of every object's values:
//
//   object := version:u8 rung:u8 zero:u16 check:u32 values              little-endian
//   check  := CRC-32C over version, rung and zero, then the values
//
// The values' length is not written: shape and rung fix it, so nothing from the wire sizes a
// buffer, and an object of another length is refused before it is looked at.
struct TokenObject {
  static constexpr uint8_t kVersion = 1;
  static constexpr size_t kHeaderBytes = 8;

  // Writes the header for values that already stand behind it.
  // REQUIRES: object.size() >= kHeaderBytes.
  static void Seal(Rung rung, std::span<std::byte> object);
  // The values of an object of this rung with exactly `value_bytes` of them, once they are checked.
  static Result<Bytes> Open(Rung rung, size_t value_bytes, const Bytes& payload);
};

}  // namespace kvcast
