#include "kvcast/object/properties.h"

#include <algorithm>

#include "kvcast/base/byte_reader.h"
#include "kvcast/base/byte_writer.h"
#include "kvcast/base/check.h"

namespace kvcast {
namespace {

constexpr size_t kValueBytesMax = 65535;

Result<Property> ReadProperty(ByteReader& reader, uint64_t previous_type) {
  const uint64_t at = reader.offset();
  KVCAST_TRY(const uint64_t delta, reader.Vi64());
  Property property;
  property.type = previous_type + delta;
  if (property.type < previous_type) {
    return Error(ErrorCode::kMalformed, "A property's type is past 2^64.").At(at);
  }
  if (!property.is_bytes()) {
    KVCAST_TRY(property.number, reader.Vi64());
    return property;
  }
  const uint64_t length_at = reader.offset();
  KVCAST_TRY(const uint64_t length, reader.Vi64());
  if (length > kValueBytesMax) {
    return Error(ErrorCode::kMalformed, "A property's value has at most 65,535 bytes.")
        .At(length_at);
  }
  KVCAST_TRY(property.bytes, reader.Text(length));
  return property;
}

Result<void> Validate(std::string_view encoded, bool inside_immutable) {
  ByteReader reader(AsBytes(encoded));
  uint64_t type = 0;
  bool immutable_seen = false;
  while (!reader.done()) {
    const uint64_t at = reader.offset();
    KVCAST_TRY(const Property property, ReadProperty(reader, type));
    type = property.type;
    if (type != property::kImmutable) {
      continue;
    }
    if (inside_immutable || immutable_seen) {
      return Error(ErrorCode::kMalformed,
                   inside_immutable ? "Immutable properties stand within immutable properties."
                                    : "Immutable properties stand twice.")
          .At(at);
    }
    immutable_seen = true;
    if (auto inner = Validate(property.bytes, true); !inner.ok()) {
      const Error& error = inner.error();
      const uint64_t start = reader.offset() - property.bytes.size();
      return Error(error.code(), error.message()).At(start + error.offset().value_or(0));
    }
  }
  return {};
}

// Calls visit(property) for each until it returns false. REQUIRES: Parse() has seen the bytes.
template <typename Visit>
void ForEach(std::string_view encoded, Visit visit) {
  ByteReader reader(AsBytes(encoded));
  uint64_t type = 0;
  bool more = true;
  while (more && !reader.done()) {
    Result<Property> property = ReadProperty(reader, type);
    KVCAST_CHECK(property.ok());
    type = property->type;
    more = visit(*property);
  }
}

}  // namespace

Result<Properties> Properties::Parse(std::string encoded) {
  KVCAST_TRY_VOID(Validate(encoded, false));
  Properties properties;
  properties.encoded_ = std::move(encoded);
  return properties;
}

std::vector<Property> Properties::List() const {
  std::vector<Property> list;
  ForEach(encoded_, [&](Property& property) {
    list.push_back(std::move(property));
    return true;
  });
  return list;
}

std::optional<Properties> Properties::Immutable() const {
  std::optional<Properties> inner;
  ForEach(encoded_, [&](Property& property) {
    if (property.type == property::kImmutable) {
      inner.emplace().encoded_ = std::move(property.bytes);
    }
    return property.type < property::kImmutable;
  });
  return inner;
}

std::optional<Property> Properties::Find(uint64_t type) const {
  std::optional<Property> found;
  ForEach(encoded_, [&](Property& property) {
    if (property.type != type) {
      return property.type < type;
    }
    found = std::move(property);
    return false;
  });
  if (found) {
    return found;
  }
  const std::optional<Properties> inner = Immutable();
  return inner ? inner->Find(type) : std::nullopt;
}

PropertiesBuilder& PropertiesBuilder::Number(uint64_t type, uint64_t value) {
  KVCAST_CHECK(type % 2 == 0);
  list_.push_back({type, value, {}});
  return *this;
}

PropertiesBuilder& PropertiesBuilder::Bytes(uint64_t type, std::string_view value) {
  KVCAST_CHECK(type % 2 == 1 && value.size() <= kValueBytesMax);
  list_.push_back({type, 0, std::string(value)});
  return *this;
}

PropertiesBuilder& PropertiesBuilder::Immutable(const Properties& inner) {
  return Bytes(property::kImmutable, inner.encoded());
}

Properties PropertiesBuilder::Build() const {
  std::vector<Property> sorted = list_;
  std::ranges::stable_sort(sorted, {}, &Property::type);
  ByteWriter writer;
  uint64_t type = 0;
  for (const Property& property : sorted) {
    writer.Vi64(property.type - type);
    type = property.type;
    if (property.is_bytes()) {
      writer.Vi64(property.bytes.size());
      writer.Write(property.bytes);
    } else {
      writer.Vi64(property.number);
    }
  }
  Result<Properties> built = Properties::Parse(writer.Take().ToString());
  KVCAST_CHECK(built.ok());
  return *std::move(built);
}

}  // namespace kvcast
