#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace kvcast {

// MoQT's variable-length integer: the number of leading one bits of the first byte says how many
// bytes follow, 0 to 8, big-endian. All 64 bits can be written.
//
//   0xxxxxxx   10xxxxxx x   110xxxxx x x   ...   11111110 x*7   11111111 x*8
//
// It is not QUIC's. A longer form than needed is legal to read; we write the shortest.
inline constexpr size_t kVi64BytesMax = 9;

size_t Vi64Size(uint64_t value);

// How many bytes the integer that starts with `first` has, itself included.
size_t Vi64SizeFrom(std::byte first);

// Writes Vi64Size(value) bytes and returns their number. REQUIRES: out has room for them.
size_t WriteVi64(uint64_t value, std::span<std::byte> out);

// REQUIRES: in.size() >= Vi64SizeFrom(in[0]).
uint64_t ReadVi64(std::span<const std::byte> in);

}  // namespace kvcast
