#pragma once

#include <cstdint>
#include <string_view>

namespace kvcast {

// What an engine's pages hold: two bytes a value either way.
enum class ValueType : uint8_t { kBf16, kFp16 };

inline constexpr uint32_t kPageValueBytes = 2;

inline std::string_view ToString(ValueType type) {
  return type == ValueType::kBf16 ? "BF16" : "FP16";
}

}  // namespace kvcast
