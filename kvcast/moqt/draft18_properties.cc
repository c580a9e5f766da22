#include "kvcast/moqt/draft18_properties.h"

#include <limits>
#include <utility>

#include "kvcast/base/byte_reader.h"

namespace kvcast::moqt::draft18 {
namespace {

constexpr uint64_t kObjectDeliveryTimeout = 0x02;
constexpr uint64_t kMaxCacheDuration = 0x04;
constexpr uint64_t kSubgroupDeliveryTimeout = 0x06;
constexpr uint64_t kDefaultPublisherPriority = 0x0e;
constexpr uint64_t kDefaultPublisherGroupOrder = 0x22;
constexpr uint64_t kDynamicGroups = 0x30;
constexpr uint64_t kMandatoryFirst = 0x4000;
constexpr uint64_t kMandatoryLast = 0x7fff;
constexpr size_t kValueBytesMax = 65535;

bool IsMandatory(uint64_t type) { return type >= kMandatoryFirst && type <= kMandatoryLast; }

Fault MalformedTrack(std::string reason) {
  return Fault::Track(ResetCode::kMalformedTrack, std::move(reason));
}

// Whether the pairs can be read, whatever stands inside the immutable ones.
bool PairsAreReadable(std::string_view encoded) {
  ByteReader reader(AsBytes(encoded));
  uint64_t type = 0;
  while (!reader.done()) {
    const Result<uint64_t> delta = reader.Vi64();
    if (!delta.ok() || *delta > std::numeric_limits<uint64_t>::max() - type) {
      return false;
    }
    type += *delta;
    const Result<uint64_t> number = reader.Vi64();
    if (!number.ok()) {
      return false;
    }
    if (type % 2 == 1 && (*number > kValueBytesMax || !reader.Skip(*number).ok())) {
      return false;
    }
  }
  return true;
}

Decoded<Properties> Read(std::string encoded) {
  const bool readable = PairsAreReadable(encoded);
  Result<Properties> properties = Properties::Parse(std::move(encoded));
  if (properties.ok()) {
    return *std::move(properties);
  }
  if (readable) {
    return MalformedTrack(properties.error().ToString());
  }
  return properties.error();
}

Decoded<void> CheckTrack(const Properties& properties) {
  for (const Property& property : properties.List()) {
    if (property.type == kDefaultPublisherPriority && property.number > 255) {
      return Fault::Violation("DEFAULT_PUBLISHER_PRIORITY is at most 255.");
    }
    if (property.type == kDefaultPublisherGroupOrder && property.number - 1 > 1) {
      return Fault::Violation("DEFAULT_PUBLISHER_GROUP_ORDER is 1 or 2.");
    }
    if (property.type == kDynamicGroups && property.number > 1) {
      return Fault::Violation("DYNAMIC_GROUPS is 0 or 1.");
    }
  }
  return {};
}

Decoded<void> CheckObject(const Properties& properties, Location location, bool& group_gap_seen,
                          bool& object_gap_seen) {
  for (const Property& property : properties.List()) {
    if (IsMandatory(property.type)) {
      return MalformedTrack("An object carries a mandatory track property.");
    }
    if (property.type == property::kPriorGroupIdGap &&
        (std::exchange(group_gap_seen, true) || property.number > location.group)) {
      return MalformedTrack("PRIOR_GROUP_ID_GAP stands twice or reaches below group 0.");
    }
    if (property.type == property::kPriorObjectIdGap &&
        (std::exchange(object_gap_seen, true) || property.number > location.object)) {
      return MalformedTrack("PRIOR_OBJECT_ID_GAP stands twice or reaches below object 0.");
    }
  }
  return {};
}

bool HasMandatory(const Properties& track) {
  for (const Property& property : track.List()) {
    if (IsMandatory(property.type)) {
      return true;
    }
  }
  const std::optional<Properties> inner = track.Immutable();
  return inner && HasMandatory(*inner);
}

}  // namespace

Decoded<Properties> ReadTrackProperties(std::string encoded) {
  KVCAST_TRY(Properties properties, Read(std::move(encoded)));
  KVCAST_TRY_VOID(CheckTrack(properties));
  if (const std::optional<Properties> inner = properties.Immutable()) {
    KVCAST_TRY_VOID(CheckTrack(*inner));
  }
  return properties;
}

Decoded<Properties> ReadObjectProperties(std::string encoded, Location location) {
  KVCAST_TRY(Properties properties, Read(std::move(encoded)));
  bool group_gap_seen = false;
  bool object_gap_seen = false;
  KVCAST_TRY_VOID(CheckObject(properties, location, group_gap_seen, object_gap_seen));
  if (const std::optional<Properties> inner = properties.Immutable()) {
    KVCAST_TRY_VOID(CheckObject(*inner, location, group_gap_seen, object_gap_seen));
  }
  return properties;
}

Decoded<ObjectStatus> StatusOf(uint64_t number) {
  const auto status = static_cast<ObjectStatus>(number);
  if (number > 255 || (status != ObjectStatus::kNormal && status != ObjectStatus::kEndOfGroup &&
                       status != ObjectStatus::kEndOfTrack)) {
    return Fault::Violation("An object's status is 0, 3 or 4.");
  }
  return status;
}

TrackTraits TraitsOf(const Properties& track) {
  TrackTraits traits;
  if (const auto priority = track.Find(kDefaultPublisherPriority)) {
    traits.default_priority = static_cast<uint8_t>(priority->number);
  }
  if (const auto order = track.Find(kDefaultPublisherGroupOrder)) {
    traits.group_order = order->number == 2 ? GroupOrder::kDescending : GroupOrder::kAscending;
  }
  if (const auto timeout = track.Find(kObjectDeliveryTimeout)) {
    traits.object_delivery_timeout_ms = timeout->number;
  }
  if (const auto timeout = track.Find(kSubgroupDeliveryTimeout)) {
    traits.subgroup_delivery_timeout_ms = timeout->number;
  }
  if (const auto duration = track.Find(kMaxCacheDuration)) {
    traits.max_cache_ms = duration->number;
  }
  const auto dynamic = track.Find(kDynamicGroups);
  traits.dynamic_groups = dynamic && dynamic->number == 1;
  traits.unknown_mandatory = HasMandatory(track);
  return traits;
}

}  // namespace kvcast::moqt::draft18
