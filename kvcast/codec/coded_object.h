#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "kvcast/base/result.h"
#include "kvcast/kv/rung.h"

namespace kvcast {

// What stands in front of every object's body:
//
//   object := version:u8 rung:u8 tokens:u16 check:u32 body              little-endian
//   check  := CRC-32C over the track's format, then version, rung and tokens, then the body
//
// The format is not in the object: it is the track's, and is sent once. Since the check covers it,
// an object that was made for another shape, calibration or scale does not pass.
struct CodedObject {
  static constexpr uint8_t kVersion = 3;
  static constexpr size_t kHeaderBytes = 8;

  Rung rung = Rung::kBf16;
  uint16_t tokens = 0;  // How many the body holds, at least 1.
  std::span<const std::byte> body;

  // Writes the header for a body that already stands behind it. `format_sum` is the CRC-32C of
  // the track's format. REQUIRES: object.size() >= kHeaderBytes, tokens > 0.
  static void Seal(Rung rung, uint32_t tokens, uint32_t format_sum, std::span<std::byte> object);
  // Mismatch: damaged, or of another track or version.
  static Result<CodedObject> Open(uint32_t format_sum, std::span<const std::byte> payload);
};

}  // namespace kvcast
