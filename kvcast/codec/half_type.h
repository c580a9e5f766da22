#pragma once

#include <cstdint>
#include <string_view>

namespace kvcast {

// What an engine's pages hold: two bytes a value either way.
enum class HalfType : uint8_t { kBf16, kFp16 };

inline constexpr uint32_t kPageValueBytes = 2;

inline std::string_view ToString(HalfType type) {
  return type == HalfType::kBf16 ? "BF16" : "FP16";
}

}  // namespace kvcast
