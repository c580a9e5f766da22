#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kvcast/base/result.h"

namespace kvcast {

// Property types that MoQT defines and we read or write.
namespace property {
inline constexpr uint64_t kImmutable = 0x0b;
inline constexpr uint64_t kPriorGroupIdGap = 0x3c;
inline constexpr uint64_t kPriorObjectIdGap = 0x3e;
}  // namespace property

// A value is a number where the type is even and bytes where it is odd.
struct Property {
  uint64_t type = 0;
  uint64_t number = 0;
  std::string bytes;

  bool is_bytes() const { return type % 2 == 1; }
  friend bool operator==(const Property&, const Property&) = default;
};

// What a track or an object says about itself to relays as well as to readers.
//
// Kept as the bytes it came in: a relay must pass on what it does not understand, and the
// serialisation of immutable properties must not change, not even in how an integer is written.
//
//   properties := (type_delta:vi64 value)*      value := number:vi64 | length:vi64 bytes
class Properties {
 public:
  Properties() = default;

  // Malformed: a type past 2^64, a value longer than 65,535, immutable properties twice or within
  // themselves, or bytes that end too early.
  static Result<Properties> Parse(std::string encoded);

  const std::string& encoded() const { return encoded_; }
  bool empty() const { return encoded_.empty(); }

  // In the order they stand in; the immutable ones as one property.
  std::vector<Property> List() const;
  // What stands inside IMMUTABLE_PROPERTIES, if that is there.
  std::optional<Properties> Immutable() const;
  // The first of a type, in the list or among the immutable ones.
  std::optional<Property> Find(uint64_t type) const;

  friend bool operator==(const Properties&, const Properties&) = default;

 private:
  std::string encoded_;
};

// Puts properties together; they may be added in any order.
class PropertiesBuilder {
 public:
  // REQUIRES: an even type.
  PropertiesBuilder& Number(uint64_t type, uint64_t value);
  // REQUIRES: an odd type, at most 65,535 bytes.
  PropertiesBuilder& Bytes(uint64_t type, std::string_view value);
  // Wraps `inner`, which no relay may change. REQUIRES: at most 65,535 bytes encoded.
  PropertiesBuilder& Immutable(const Properties& inner);

  Properties Build() const;

 private:
  std::vector<Property> list_;
};

}  // namespace kvcast
