#include "kvcast/moqt/draft18_subgroup.h"

#include <limits>
#include <utility>

#include "kvcast/base/byte_writer.h"
#include "kvcast/moqt/draft18_properties.h"

namespace kvcast::moqt::draft18 {
namespace {

using Mode = SubgroupHeader::Mode;

constexpr uint64_t kSubgroupProperties = 0x01;
constexpr uint64_t kModeShift = 1;
constexpr uint64_t kSubgroupEndsGroup = 0x08;
constexpr uint64_t kAlways = 0x10;
constexpr uint64_t kSubgroupTracksPriority = 0x20;
constexpr uint64_t kFirstObject = 0x40;

// What the type says of the header; a priority to be read is there, as 0.
Decoded<SubgroupHeader> OfType(uint64_t type) {
  const uint64_t mode = type >> kModeShift & 3;
  if (mode > static_cast<uint64_t>(Mode::kExplicit)) {
    return Fault::Violation("A subgroup's mode is 0 to 2.");
  }
  SubgroupHeader header;
  header.mode = static_cast<Mode>(mode);
  header.properties = (type & kSubgroupProperties) != 0;
  header.end_of_group = (type & kSubgroupEndsGroup) != 0;
  header.first_object = (type & kFirstObject) != 0;
  if ((type & kSubgroupTracksPriority) == 0) {
    header.priority = 0;
  }
  return header;
}

Result<void> ReadFields(SubgroupHeader& header, ByteReader& reader) {
  KVCAST_TRY(header.alias, reader.Vi64());
  KVCAST_TRY(header.group, reader.Vi64());
  if (header.mode == Mode::kExplicit) {
    KVCAST_TRY(header.subgroup, reader.Vi64());
  }
  if (header.priority) {
    KVCAST_TRY(header.priority, reader.U8());
  }
  return {};
}

}  // namespace

Decoded<std::optional<SubgroupHeader>> ReadHeader(uint64_t type, ByteReader& reader) {
  KVCAST_CHECK(IsSubgroupType(type));
  KVCAST_TRY(SubgroupHeader header, OfType(type));
  return ReadFields(header, reader).ok() ? std::optional(header) : std::nullopt;
}

Bytes SubgroupWriter::Header() const {
  ByteWriter writer;
  writer.Vi64(kAlways | static_cast<uint64_t>(header_.mode) << kModeShift |
              (header_.properties ? kSubgroupProperties : 0) |
              (header_.end_of_group ? kSubgroupEndsGroup : 0) |
              (header_.first_object ? kFirstObject : 0) |
              (header_.priority ? 0 : kSubgroupTracksPriority));
  writer.Vi64(header_.alias);
  writer.Vi64(header_.group);
  if (header_.mode == Mode::kExplicit) {
    writer.Vi64(header_.subgroup);
  }
  if (header_.priority) {
    writer.U8(*header_.priority);
  }
  return writer.Take();
}

bool SubgroupWriter::Accepts(const Object& object) const {
  const bool normal = object.status == ObjectStatus::kNormal;
  return !ended_ && object.location.group == header_.group &&
         (!previous_ || object.location.object > *previous_) &&
         (object.properties.empty() || (header_.properties && normal)) &&
         (normal || object.payload.empty());
}

Bytes SubgroupWriter::Write(const Object& object) {
  KVCAST_CHECK(Accepts(object));
  const uint64_t id = object.location.object;
  ByteWriter writer;
  writer.Vi64(previous_ ? id - *previous_ - 1 : id);
  previous_ = id;
  if (header_.properties) {
    writer.Vi64(object.properties.encoded().size());
    writer.Write(object.properties.encoded());
  }
  writer.Vi64(object.payload.size());
  if (object.payload.empty()) {
    writer.Vi64(static_cast<uint64_t>(object.status));
  }
  writer.Share(object.payload);
  ended_ = object.status != ObjectStatus::kNormal;
  return writer.Take();
}

std::optional<uint64_t> SubgroupReader::subgroup() const {
  switch (header_.mode) {
    case SubgroupHeader::Mode::kZero:
      return 0;
    case SubgroupHeader::Mode::kExplicit:
      return header_.subgroup;
    case SubgroupHeader::Mode::kFirstObject:
      return first_;
  }
  return std::nullopt;
}

Decoded<std::optional<Object>> SubgroupReader::Read(std::span<const std::byte>& in,
                                                    uint8_t default_priority) {
  while (!in.empty()) {
    KVCAST_TRY(const bool whole, Step(in));
    if (whole) {
      return std::optional(Finish(default_priority));
    }
  }
  return std::optional<Object>();
}

// True once an object is whole.
Decoded<bool> SubgroupReader::Step(std::span<const std::byte>& in) {
  if (stage_ == Stage::kPayload) {
    return payload_.Read(in);
  }
  if (stage_ == Stage::kProperties) {
    if (properties_.Read(in)) {
      KVCAST_TRY(object_.properties, ReadObjectProperties(properties_.Take(), object_.location));
      stage_ = Stage::kPayloadLength;
    }
    return false;
  }
  const std::optional<uint64_t> number = number_.Read(in);
  return number ? OnNumber(*number) : Decoded<bool>(false);
}

Decoded<bool> SubgroupReader::OnNumber(uint64_t number) {
  switch (stage_) {
    case Stage::kDelta: {
      KVCAST_TRY_VOID(OnDelta(number));
      return false;
    }
    case Stage::kPropertiesLength:
      if (number > limits_->properties_bytes_max) {
        return Fault::Stream(ResetCode::kExcessiveLoad, "An object has too many properties.");
      }
      properties_.Begin(static_cast<size_t>(number));
      stage_ = number == 0 ? Stage::kPayloadLength : Stage::kProperties;
      return false;
    case Stage::kPayloadLength:
      return OnPayloadLength(number);
    default:
      return OnStatus(number);
  }
}

Decoded<void> SubgroupReader::OnDelta(uint64_t delta) {
  if (ended_) {
    return Fault::Violation("An object follows the end of its group or track.");
  }
  uint64_t id = delta;
  if (previous_) {
    if (delta >= std::numeric_limits<uint64_t>::max() - *previous_) {
      return Fault::Violation("An object's id is past 2^64.");
    }
    id = *previous_ + delta + 1;
  }
  previous_ = id;
  if (!first_) {
    first_ = id;
  }
  object_ = Object();
  object_.location = {header_.group, id};
  object_.subgroup = *subgroup();
  stage_ = header_.properties ? Stage::kPropertiesLength : Stage::kPayloadLength;
  return {};
}

Decoded<bool> SubgroupReader::OnPayloadLength(uint64_t length) {
  if (length > limits_->object_bytes_max) {
    return Fault::Stream(ResetCode::kExcessiveLoad, "An object is too large.");
  }
  stage_ = length == 0 ? Stage::kStatus : Stage::kPayload;
  if (length > 0) {
    payload_.Begin(length, limits_->payload_chunks);
  }
  return false;
}

Decoded<bool> SubgroupReader::OnStatus(uint64_t status) {
  KVCAST_TRY(object_.status, StatusOf(status));
  if (object_.status != ObjectStatus::kNormal) {
    if (!object_.properties.empty()) {
      return Fault::Violation("Only a normal object has properties.");
    }
    ended_ = true;
  }
  return true;
}

Object SubgroupReader::Finish(uint8_t default_priority) {
  object_.priority = header_.priority.value_or(default_priority);
  object_.payload = payload_.Take();
  stage_ = Stage::kDelta;
  return std::exchange(object_, Object());
}

}  // namespace kvcast::moqt::draft18
