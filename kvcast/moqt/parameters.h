#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "kvcast/base/byte_reader.h"
#include "kvcast/base/byte_writer.h"
#include "kvcast/moqt/auth_token.h"
#include "kvcast/moqt/fault.h"
#include "kvcast/object/location.h"
#include "kvcast/object/track_name.h"

namespace kvcast::moqt {

enum class GroupOrder : uint8_t { kAscending = 1, kDescending = 2 };

// Which objects of a track a subscriber wants, as numbered by the draft.
struct SubscriptionFilter {
  enum class Type : uint8_t {
    kNextGroupStart = 1,
    kLargestObject = 2,
    kAbsoluteStart = 3,
    kAbsoluteRange = 4,
  };
  Type type = Type::kLargestObject;
  Location start;          // kAbsoluteStart, kAbsoluteRange.
  uint64_t end_group = 0;  // kAbsoluteRange; included. REQUIRES: end_group >= start.group.

  friend bool operator==(const SubscriptionFilter&, const SubscriptionFilter&) = default;
};

// The message that parameters stand in, as far as it decides which ones may. One bit each.
enum class ParameterScope : uint32_t {
  kSubscribe = 1u << 0,
  kSubscribeOk = 1u << 1,
  kPublish = 1u << 2,
  kPublishOk = 1u << 3,
  kFetch = 1u << 4,
  kFetchOk = 1u << 5,
  kTrackStatus = 1u << 6,
  kTrackStatusOk = 1u << 7,
  kUpdateSubscription = 1u << 8,
  kUpdateFetch = 1u << 9,
  kUpdateNamespace = 1u << 10,
  kUpdateOk = 1u << 11,
  kPublishNamespace = 1u << 12,
  kSubscribeNamespace = 1u << 13,
  kSubscribeTracks = 1u << 14,
  kNamespaceOk = 1u << 15,
};

// What a message says beyond its fields. Each parameter has its own encoding, so none can be
// skipped: one that is unknown, stands in the wrong message or stands twice ends the session.
//
//   parameters := count:vi64 (type_delta:vi64 value)*count        by rising type
struct Parameters {
  std::optional<uint64_t> object_delivery_timeout_ms;
  std::vector<AuthToken> auth_tokens;
  std::optional<uint64_t> rendezvous_timeout_ms;
  std::optional<uint64_t> subgroup_delivery_timeout_ms;
  std::optional<uint64_t> expires_ms;
  std::optional<Location> largest_object;
  std::optional<uint64_t> fill_timeout_ms;
  std::optional<bool> forward;
  std::optional<uint8_t> subscriber_priority;
  std::optional<SubscriptionFilter> filter;
  std::optional<GroupOrder> group_order;
  std::optional<uint64_t> new_group_request;
  std::optional<TrackNamespace> namespace_prefix;

  void WriteTo(ByteWriter& writer) const;
  static Decoded<Parameters> ReadFrom(ByteReader& reader, ParameterScope scope);

  friend bool operator==(const Parameters&, const Parameters&) = default;
};

}  // namespace kvcast::moqt
