#include "kvcast/moqt/subgroup_stream.h"

#include <limits>
#include <utility>

#include "kvcast/base/byte_writer.h"
#include "kvcast/moqt/property_rules.h"

namespace kvcast::moqt {

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

bool SubgroupReader::ReadHeader(std::span<const std::byte>& in) {
  while (!header_done() && !in.empty()) {
    if (stage_ == Stage::kPriority) {
      header_.priority = std::to_integer<uint8_t>(in.front());
      in = in.subspan(1);
      stage_ = Stage::kDelta;
      break;
    }
    const std::optional<uint64_t> number = number_.Read(in);
    if (!number) {
      break;
    }
    if (stage_ == Stage::kAlias) {
      header_.alias = *number;
      stage_ = Stage::kGroup;
      continue;
    }
    if (stage_ == Stage::kGroup && header_.mode == SubgroupHeader::Mode::kExplicit) {
      header_.group = *number;
      stage_ = Stage::kSubgroup;
      continue;
    }
    (stage_ == Stage::kGroup ? header_.group : header_.subgroup) = *number;
    stage_ = header_.priority ? Stage::kPriority : Stage::kDelta;
  }
  return header_done();
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
  KVCAST_CHECK(header_done());
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
    payload_.Begin(length);
  }
  return false;
}

Decoded<bool> SubgroupReader::OnStatus(uint64_t status) {
  if (status != static_cast<uint64_t>(ObjectStatus::kNormal) &&
      status != static_cast<uint64_t>(ObjectStatus::kEndOfGroup) &&
      status != static_cast<uint64_t>(ObjectStatus::kEndOfTrack)) {
    return Fault::Violation("An object's status is 0, 3 or 4.");
  }
  object_.status = static_cast<ObjectStatus>(status);
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

}  // namespace kvcast::moqt
