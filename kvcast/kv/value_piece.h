#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "kvcast/base/bytes.h"
#include "kvcast/base/result.h"
#include "kvcast/kv/prefix_chain.h"

namespace kvcast {

// A value is a group, cut into objects of bounded size. Each says of which value it is a piece:
//
//   piece := version:u8 zeros:u8[3] check:u32 length:u64 offset:u64 body         little-endian
//   check := CRC-32C over the value's name, then all of the piece but the check
//
// Object i holds the bytes from i * kBodyMax on, kBodyMax of them or what is left. The name is not
// in the object; since the check covers it, the piece of another value does not pass.
struct ValuePiece {
  static constexpr uint8_t kVersion = 1;
  static constexpr size_t kHeaderBytes = 24;
  static constexpr size_t kBodyMax = 256 * 1024 - kHeaderBytes;
  static constexpr uint64_t kValueBytesMax = uint64_t{1} << 30;

  // How many objects a value has. REQUIRES: 0 < length <= kValueBytesMax.
  static uint32_t CountOf(uint64_t length);
  // How long a value is whose objects have so many bytes together; 0 if none has.
  static uint64_t LengthOf(uint64_t object_bytes);
  // Copies. REQUIRES: index < CountOf(value.size()).
  static Bytes Make(const BlockHash& name, std::span<const std::byte> value, uint32_t index);
  // Checks the piece, and only then copies it to its place in `value`. Mismatch: damaged, another
  // value's, or not in its place. Too large: the value is whole, and not as long as `value`.
  // REQUIRES: index < CountOf(value.size()).
  static Result<void> Take(const BlockHash& name, const Bytes& piece, uint32_t index,
                           std::span<std::byte> value);
};

}  // namespace kvcast
