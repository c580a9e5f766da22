#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "kvcast/moqt/auth_token.h"
#include "kvcast/object/location.h"
#include "kvcast/object/track_name.h"

namespace kvcast::moqt {

enum class GroupOrder : uint8_t { kAscending = 1, kDescending = 2 };

// Which objects of a track a subscriber wants.
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

// What a message says beyond its fields. Which ones it may say is its codec's business; one of a
// peer's that may not, or that we do not know, ends the session, and one of ours is not sent.
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

  friend bool operator==(const Parameters&, const Parameters&) = default;
};

}  // namespace kvcast::moqt
