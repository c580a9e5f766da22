#include "kvcast/moqt/draft18_fetch.h"

#include <limits>
#include <utility>

#include "kvcast/base/byte_writer.h"
#include "kvcast/moqt/draft18_properties.h"

namespace kvcast::moqt::draft18 {
namespace {

constexpr uint64_t kSubgroupMask = 0x03;
constexpr uint64_t kSubgroupZero = 0x00;
constexpr uint64_t kSubgroupPrior = 0x01;
constexpr uint64_t kSubgroupNext = 0x02;
constexpr uint64_t kSubgroupPresent = 0x03;
constexpr uint64_t kObjectPresent = 0x04;
constexpr uint64_t kGroupPresent = 0x08;
constexpr uint64_t kPriorityPresent = 0x10;
constexpr uint64_t kPropertiesPresent = 0x20;
constexpr uint64_t kDatagram = 0x40;
constexpr uint64_t kFlagsEnd = 0x80;
constexpr uint64_t kNonExistentRange = 0x8c;
constexpr uint64_t kUnknownRange = 0x10c;
constexpr uint64_t kMax = std::numeric_limits<uint64_t>::max();

uint64_t SubgroupFlags(const Object& object, const FetchPrior& prior) {
  if (object.forwarding == Forwarding::kDatagram) {
    return kDatagram;
  }
  if (object.subgroup == 0) {
    return kSubgroupZero;
  }
  if (prior.subgroup && object.subgroup == *prior.subgroup) {
    return kSubgroupPrior;
  }
  if (prior.subgroup && object.subgroup - 1 == *prior.subgroup) {
    return kSubgroupNext;
  }
  return kSubgroupPresent;
}

// The location's flags and its fields, the subgroup's between them.
uint64_t LocationFlags(Location location, const FetchPrior& prior) {
  if (!prior.location) {
    return kGroupPresent | kObjectPresent;
  }
  const uint64_t group = location.group == prior.location->group ? 0 : kGroupPresent;
  const bool next = prior.location->object < kMax && location.object == prior.location->object + 1;
  return group | (next ? 0 : kObjectPresent);
}

}  // namespace

Bytes FetchWriter::Header() const {
  ByteWriter writer;
  writer.Vi64(kFetchHeaderType);
  writer.Vi64(request_id_);
  return writer.Take();
}

bool FetchWriter::Accepts(const Object& object) const {
  return object.status == ObjectStatus::kNormal && prior_.IsBefore(object.location, order_);
}

Bytes FetchWriter::Write(const Object& object) {
  KVCAST_CHECK(Accepts(object));
  const Location at = object.location;
  uint64_t flags = LocationFlags(at, prior_) | SubgroupFlags(object, prior_);
  flags |= prior_.priority == object.priority ? 0 : kPriorityPresent;
  flags |= object.properties.empty() ? 0 : kPropertiesPresent;
  ByteWriter writer;
  writer.Vi64(flags);
  if ((flags & kGroupPresent) != 0) {
    const uint64_t from = prior_.location ? prior_.location->group : 0;
    const bool up = order_ == GroupOrder::kAscending;
    writer.Vi64(!prior_.location ? at.group : (up ? at.group - from : from - at.group) - 1);
  }
  if ((flags & kDatagram) == 0 && (flags & kSubgroupMask) == kSubgroupPresent) {
    writer.Vi64(object.subgroup);
  }
  if ((flags & kObjectPresent) != 0) {
    const bool absolute = (flags & kGroupPresent) != 0;
    writer.Vi64(absolute ? at.object : at.object - prior_.location->object);
  }
  if ((flags & kPriorityPresent) != 0) {
    writer.U8(object.priority);
  }
  if ((flags & kPropertiesPresent) != 0) {
    writer.Vi64(object.properties.encoded().size());
    writer.Write(object.properties.encoded());
  }
  writer.Vi64(object.payload.size());
  writer.Share(object.payload);
  prior_.Pass(object);
  if (object.forwarding == Forwarding::kDatagram) {
    prior_.subgroup.reset();  // The draft does not say which one comes before the next object's.
  }
  return writer.Take();
}

Bytes FetchWriter::Write(const RangeEnd& end) {
  KVCAST_CHECK(Accepts(end));
  ByteWriter writer;
  writer.Vi64(end.unknown ? kUnknownRange : kNonExistentRange);
  writer.Vi64(end.last.group);
  writer.Vi64(end.last.object);
  prior_.location = end.last;
  return writer.Take();
}

Decoded<std::optional<FetchItem>> FetchReader::Read(std::span<const std::byte>& in) {
  while (!in.empty()) {
    KVCAST_TRY_VOID(Step(in));
    if (stage_ == Stage::kWhole) {
      return std::optional(Finish());
    }
  }
  return std::optional<FetchItem>();
}

Decoded<void> FetchReader::Step(std::span<const std::byte>& in) {
  if (stage_ == Stage::kPayload) {
    stage_ = payload_.Read(in) ? Stage::kWhole : stage_;
    return {};
  }
  if (stage_ == Stage::kProperties) {
    if (properties_.Read(in)) {
      KVCAST_TRY(object_.properties, ReadObjectProperties(properties_.Take(), object_.location));
      stage_ = Stage::kPayloadLength;
    }
    return {};
  }
  if (stage_ == Stage::kPriority) {
    object_.priority = std::to_integer<uint8_t>(in.front());
    in = in.subspan(1);
    return Enter(Stage::kPropertiesLength);
  }
  const std::optional<uint64_t> number = number_.Read(in);
  return number ? OnNumber(*number) : Decoded<void>();
}

Decoded<void> FetchReader::OnNumber(uint64_t number) {
  switch (stage_) {
    case Stage::kFlags:
      flags_ = number;
      return OnFlags();
    case Stage::kGroup: {
      KVCAST_TRY_VOID(OnGroup(number));
      return Enter(Stage::kSubgroup);
    }
    case Stage::kSubgroup:
      object_.subgroup = number;
      return Enter(Stage::kObject);
    case Stage::kObject: {
      KVCAST_TRY_VOID(OnObject(number));
      return Enter(Stage::kPriority);
    }
    case Stage::kPropertiesLength:
      if (number > limits_->properties_bytes_max) {
        return Fault::Stream(ResetCode::kExcessiveLoad, "An object has too many properties.");
      }
      properties_.Begin(static_cast<size_t>(number));
      stage_ = number == 0 ? Stage::kPayloadLength : Stage::kProperties;
      return {};
    default:
      if (number > limits_->object_bytes_max) {
        return Fault::Stream(ResetCode::kExcessiveLoad, "An object is too large.");
      }
      stage_ = number == 0 ? Stage::kWhole : Stage::kPayload;
      if (number > 0) {
        payload_.Begin(number, limits_->payload_chunks);
      }
      return {};
  }
}

Decoded<void> FetchReader::OnFlags() {
  if (flags_ >= kFlagsEnd && flags_ != kNonExistentRange && flags_ != kUnknownRange) {
    return Fault::Violation("The flags of a fetched object are unknown.");
  }
  object_ = Object();
  if (!prior_.location && (!Has(kGroupPresent) || !Has(kObjectPresent))) {
    return Fault::Violation("The first object of a fetch does not say where it is.");
  }
  if (!is_range_end()) {
    const uint64_t subgroup = flags_ & kSubgroupMask;
    const bool refers = subgroup == kSubgroupPrior || subgroup == kSubgroupNext;
    if (refers && !Has(kDatagram) && !prior_.subgroup) {
      return Fault::Violation("A fetched object refers to a subgroup before it; there is none.");
    }
    if (!Has(kPriorityPresent) && !prior_.priority) {
      return Fault::Violation("A fetched object refers to a priority before it; there is none.");
    }
    object_.forwarding = Has(kDatagram) ? Forwarding::kDatagram : Forwarding::kSubgroup;
  }
  return Enter(Stage::kGroup);
}

Decoded<void> FetchReader::OnGroup(uint64_t delta) {
  uint64_t& group = object_.location.group;
  if (!prior_.location || is_range_end()) {
    group = delta;
    return {};
  }
  const uint64_t from = prior_.location->group;
  const bool up = order_ == GroupOrder::kAscending;
  if (delta >= (up ? kMax - from : from)) {
    return Fault::Violation("A fetched object's group is below 0 or past 2^64.");
  }
  group = up ? from + delta + 1 : from - delta - 1;
  return {};
}

Decoded<void> FetchReader::OnObject(std::optional<uint64_t> delta) {
  const bool absolute = delta && Has(kGroupPresent);
  const uint64_t from = absolute ? 0 : prior_.location->object;
  const uint64_t by = delta.value_or(1);
  if (by > kMax - from) {
    return Fault::Violation("A fetched object's id is past 2^64.");
  }
  object_.location.object = from + by;
  if (!prior_.IsBefore(object_.location, order_)) {
    return Fault::Track(ResetCode::kMalformedTrack, "Fetched objects are out of order.");
  }
  return {};
}

bool FetchReader::Asks(Stage stage) const {
  switch (stage) {
    case Stage::kGroup:
      return Has(kGroupPresent);
    case Stage::kSubgroup:
      return !is_range_end() && !Has(kDatagram) && (flags_ & kSubgroupMask) == kSubgroupPresent;
    case Stage::kObject:
      return Has(kObjectPresent);
    case Stage::kPriority:
      return Has(kPriorityPresent);
    case Stage::kPropertiesLength:
      return Has(kPropertiesPresent);
    default:
      return true;
  }
}

Decoded<void> FetchReader::OnAbsent(Stage stage) {
  if (stage == Stage::kGroup) {
    object_.location.group = prior_.location->group;
  } else if (stage == Stage::kObject) {
    return OnObject(std::nullopt);
  } else if (stage == Stage::kPriority) {
    object_.priority = *prior_.priority;
  } else if (stage == Stage::kSubgroup && !Has(kDatagram) && !is_range_end()) {
    const uint64_t subgroup = flags_ & kSubgroupMask;
    if (subgroup == kSubgroupNext && *prior_.subgroup == kMax) {
      return Fault::Violation("A fetched object's subgroup is past 2^64.");
    }
    object_.subgroup =
        subgroup == kSubgroupZero ? 0 : *prior_.subgroup + (subgroup == kSubgroupNext ? 1 : 0);
  }
  return {};
}

Decoded<void> FetchReader::Enter(Stage stage) {
  if (is_range_end() && stage > Stage::kObject) {
    stage_ = Stage::kWhole;
    return {};
  }
  while (!Asks(stage)) {
    KVCAST_TRY_VOID(OnAbsent(stage));
    stage = stage == Stage::kPropertiesLength ? Stage::kPayloadLength
                                              : static_cast<Stage>(static_cast<uint8_t>(stage) + 1);
  }
  stage_ = stage;
  return {};
}

FetchItem FetchReader::Finish() {
  stage_ = Stage::kFlags;
  if (is_range_end()) {
    prior_.location = object_.location;
    return RangeEnd{object_.location, flags_ == kUnknownRange};
  }
  object_.payload = payload_.Take();
  prior_.Pass(object_);
  return std::exchange(object_, Object());
}

}  // namespace kvcast::moqt::draft18
