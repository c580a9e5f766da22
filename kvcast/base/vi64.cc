#include "kvcast/base/vi64.h"

#include <algorithm>
#include <bit>

#include "kvcast/base/check.h"

namespace kvcast {

size_t Vi64Size(uint64_t value) {
  // Each byte more brings seven bits more, and the ninth brings all that are left.
  const size_t bits = std::max<size_t>(1, static_cast<size_t>(std::bit_width(value)));
  return std::min((bits + 6) / 7, kVi64BytesMax);
}

size_t Vi64SizeFrom(std::byte first) {
  return 1 + static_cast<size_t>(std::countl_one(std::to_integer<uint8_t>(first)));
}

size_t WriteVi64(uint64_t value, std::span<std::byte> out) {
  const size_t size = Vi64Size(value);
  KVCAST_CHECK(out.size() >= size);
  for (size_t i = size; i-- > 0;) {
    out[i] = static_cast<std::byte>(value);
    value >>= 8;
  }
  out[0] |= static_cast<std::byte>(0xffu << (kVi64BytesMax - size));
  return size;
}

uint64_t ReadVi64(std::span<const std::byte> in) {
  const size_t size = Vi64SizeFrom(in[0]);
  KVCAST_CHECK(in.size() >= size);
  uint64_t value = size >= 8 ? 0 : std::to_integer<uint64_t>(in[0]) & (0x7fu >> (size - 1));
  for (size_t i = 1; i < size; ++i) {
    value = value << 8 | std::to_integer<uint64_t>(in[i]);
  }
  return value;
}

}  // namespace kvcast
