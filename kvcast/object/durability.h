#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace kvcast {

// What an object survives that was acknowledged: nothing; the node's death and a loss of power; the
// loss of the node. Numbered as they are written, and each holds what those before it do.
enum class Durability : uint8_t { kMemory = 0, kDisk = 1, kBucket = 2 };

constexpr std::string_view ToString(Durability level) {
  switch (level) {
    case Durability::kMemory:
      return "memory";
    case Durability::kDisk:
      return "disk";
    case Durability::kBucket:
      return "bucket";
  }
  return "unknown";
}

// Absent if there is none of this name, or of this number.
constexpr std::optional<Durability> DurabilityOf(std::string_view name) {
  for (const Durability level : {Durability::kMemory, Durability::kDisk, Durability::kBucket}) {
    if (name == ToString(level)) {
      return level;
    }
  }
  return std::nullopt;
}
constexpr std::optional<Durability> DurabilityOf(uint64_t number) {
  return number <= static_cast<uint64_t>(Durability::kBucket)
             ? std::optional(static_cast<Durability>(number))
             : std::nullopt;
}

}  // namespace kvcast
