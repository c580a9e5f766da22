#include "kvcast/moqt/parameters.h"

#include <algorithm>
#include <iterator>
#include <limits>

namespace kvcast::moqt {
namespace {

enum ParameterType : uint64_t {
  kObjectDeliveryTimeout = 0x02,
  kAuthorizationToken = 0x03,
  kRendezvousTimeout = 0x04,
  kSubgroupDeliveryTimeout = 0x06,
  kExpires = 0x08,
  kLargestObject = 0x09,
  kFillTimeout = 0x0a,
  kForward = 0x10,
  kSubscriberPriority = 0x20,
  kSubscriptionFilter = 0x21,
  kGroupOrder = 0x22,
  kNewGroupRequest = 0x32,
  kTrackNamespacePrefix = 0x34,
};

template <typename... Scopes>
constexpr uint32_t Scope(Scopes... scopes) {
  return (static_cast<uint32_t>(scopes) | ...);
}

struct Rule {
  uint64_t type;
  uint32_t scopes;
};

// TRACK_STATUS_OK carries what SUBSCRIBE_OK would have, and so EXPIRES as well, although the
// parameter's own definition does not list it.
constexpr Rule kRules[] = {
    {kObjectDeliveryTimeout, Scope(ParameterScope::kPublishOk, ParameterScope::kSubscribe,
                                   ParameterScope::kUpdateSubscription)},
    {kAuthorizationToken,
     Scope(ParameterScope::kPublish, ParameterScope::kSubscribe, ParameterScope::kFetch,
           ParameterScope::kTrackStatus, ParameterScope::kUpdateSubscription,
           ParameterScope::kUpdateFetch, ParameterScope::kUpdateNamespace,
           ParameterScope::kPublishNamespace, ParameterScope::kSubscribeNamespace,
           ParameterScope::kSubscribeTracks)},
    {kRendezvousTimeout, Scope(ParameterScope::kSubscribe)},
    {kSubgroupDeliveryTimeout, Scope(ParameterScope::kPublishOk, ParameterScope::kSubscribe,
                                     ParameterScope::kUpdateSubscription)},
    {kExpires,
     Scope(ParameterScope::kSubscribeOk, ParameterScope::kPublish, ParameterScope::kPublishOk,
           ParameterScope::kUpdateOk, ParameterScope::kTrackStatusOk)},
    {kLargestObject, Scope(ParameterScope::kSubscribeOk, ParameterScope::kPublish,
                           ParameterScope::kUpdateOk, ParameterScope::kTrackStatusOk)},
    {kFillTimeout, Scope(ParameterScope::kFetch)},
    {kForward,
     Scope(ParameterScope::kSubscribe, ParameterScope::kUpdateSubscription,
           ParameterScope::kPublish, ParameterScope::kPublishOk, ParameterScope::kSubscribeTracks)},
    {kSubscriberPriority,
     Scope(ParameterScope::kSubscribe, ParameterScope::kFetch, ParameterScope::kUpdateSubscription,
           ParameterScope::kUpdateFetch, ParameterScope::kPublishOk)},
    {kSubscriptionFilter, Scope(ParameterScope::kSubscribe, ParameterScope::kPublishOk,
                                ParameterScope::kUpdateSubscription)},
    {kGroupOrder,
     Scope(ParameterScope::kSubscribe, ParameterScope::kPublishOk, ParameterScope::kFetch)},
    {kNewGroupRequest, Scope(ParameterScope::kPublishOk, ParameterScope::kSubscribe,
                             ParameterScope::kUpdateSubscription)},
    {kTrackNamespacePrefix, Scope(ParameterScope::kUpdateNamespace)},
};

std::string EncodeFilter(const SubscriptionFilter& filter) {
  using Type = SubscriptionFilter::Type;
  ByteWriter writer;
  writer.Vi64(static_cast<uint64_t>(filter.type));
  if (filter.type == Type::kAbsoluteStart || filter.type == Type::kAbsoluteRange) {
    writer.Vi64(filter.start.group);
    writer.Vi64(filter.start.object);
  }
  if (filter.type == Type::kAbsoluteRange) {
    writer.Vi64(filter.end_group - filter.start.group);
  }
  return writer.Take().ToString();
}

Decoded<SubscriptionFilter> DecodeFilter(std::string_view encoded) {
  using Type = SubscriptionFilter::Type;
  ByteReader reader(AsBytes(encoded));
  KVCAST_TRY(const uint64_t type, reader.Vi64());
  if (type < static_cast<uint64_t>(Type::kNextGroupStart) ||
      type > static_cast<uint64_t>(Type::kAbsoluteRange)) {
    return Fault::Violation("A subscription filter's type is 1 to 4.");
  }
  SubscriptionFilter filter;
  filter.type = static_cast<Type>(type);
  if (filter.type == Type::kAbsoluteStart || filter.type == Type::kAbsoluteRange) {
    KVCAST_TRY(filter.start.group, reader.Vi64());
    KVCAST_TRY(filter.start.object, reader.Vi64());
  }
  if (filter.type == Type::kAbsoluteRange) {
    KVCAST_TRY(const uint64_t delta, reader.Vi64());
    if (delta > std::numeric_limits<uint64_t>::max() - filter.start.group) {
      return Fault::Violation("A subscription filter ends past the last group there can be.");
    }
    filter.end_group = filter.start.group + delta;
  }
  if (!reader.done()) {
    return Fault::Violation("A subscription filter is shorter than its length says.");
  }
  return filter;
}

Decoded<std::string> ReadPrefixed(ByteReader& reader) {
  KVCAST_TRY(const uint64_t length, reader.Vi64());
  KVCAST_TRY(std::string text, reader.Text(length));
  return text;
}

Decoded<void> ReadForward(ByteReader& reader, Parameters& out) {
  KVCAST_TRY(const uint8_t value, reader.U8());
  if (value > 1) {
    return Fault::Violation("FORWARD is 0 or 1.");
  }
  out.forward = value == 1;
  return {};
}

Decoded<void> ReadGroupOrder(ByteReader& reader, Parameters& out) {
  KVCAST_TRY(const uint8_t value, reader.U8());
  if (value != 1 && value != 2) {
    return Fault::Violation("GROUP_ORDER is 1 or 2.");
  }
  out.group_order = static_cast<GroupOrder>(value);
  return {};
}

Decoded<void> ReadNumber(ByteReader& reader, std::optional<uint64_t>& out) {
  KVCAST_TRY(out, reader.Vi64());
  return {};
}

Decoded<void> ReadValue(ByteReader& reader, uint64_t type, Parameters& out) {
  switch (type) {
    case kObjectDeliveryTimeout:
      return ReadNumber(reader, out.object_delivery_timeout_ms);
    case kRendezvousTimeout:
      return ReadNumber(reader, out.rendezvous_timeout_ms);
    case kSubgroupDeliveryTimeout:
      return ReadNumber(reader, out.subgroup_delivery_timeout_ms);
    case kExpires:
      return ReadNumber(reader, out.expires_ms);
    case kFillTimeout:
      return ReadNumber(reader, out.fill_timeout_ms);
    case kNewGroupRequest:
      return ReadNumber(reader, out.new_group_request);
    case kForward:
      return ReadForward(reader, out);
    case kGroupOrder:
      return ReadGroupOrder(reader, out);
    case kAuthorizationToken: {
      KVCAST_TRY(const std::string encoded, ReadPrefixed(reader));
      KVCAST_TRY(AuthToken token, AuthToken::Decode(encoded));
      out.auth_tokens.push_back(std::move(token));
      return {};
    }
    case kLargestObject: {
      Location largest;
      KVCAST_TRY(largest.group, reader.Vi64());
      KVCAST_TRY(largest.object, reader.Vi64());
      out.largest_object = largest;
      return {};
    }
    case kSubscriberPriority: {
      KVCAST_TRY(out.subscriber_priority, reader.U8());
      return {};
    }
    case kSubscriptionFilter: {
      KVCAST_TRY(const std::string encoded, ReadPrefixed(reader));
      KVCAST_TRY(out.filter, DecodeFilter(encoded));
      return {};
    }
    case kTrackNamespacePrefix: {
      KVCAST_TRY(out.namespace_prefix, TrackNamespace::ReadFrom(reader));
      return {};
    }
    default:
      return Fault::Violation("A message parameter is unknown.");
  }
}

// Counts and writes parameters, which must come by rising type.
class ParameterWriter {
 public:
  void Type(uint64_t type) {
    body_.Vi64(type - previous_);
    previous_ = type;
    ++count_;
  }
  void Number(uint64_t type, const std::optional<uint64_t>& value) {
    if (value) {
      Type(type);
      body_.Vi64(*value);
    }
  }
  void Byte(uint64_t type, std::optional<uint8_t> value) {
    if (value) {
      Type(type);
      body_.U8(*value);
    }
  }
  void Prefixed(uint64_t type, std::string_view value) {
    Type(type);
    body_.Vi64(value.size());
    body_.Write(value);
  }
  ByteWriter& body() { return body_; }
  void Finish(ByteWriter& out) {
    out.Vi64(count_);
    out.Share(body_.Take());
  }

 private:
  ByteWriter body_;
  uint64_t previous_ = 0;
  uint64_t count_ = 0;
};

template <typename T>
std::optional<uint8_t> AsByte(const std::optional<T>& value) {
  return value ? std::optional(static_cast<uint8_t>(*value)) : std::nullopt;
}

}  // namespace

void Parameters::WriteTo(ByteWriter& writer) const {
  ParameterWriter out;
  out.Number(kObjectDeliveryTimeout, object_delivery_timeout_ms);
  for (const AuthToken& token : auth_tokens) {
    out.Prefixed(kAuthorizationToken, token.Encode());
  }
  out.Number(kRendezvousTimeout, rendezvous_timeout_ms);
  out.Number(kSubgroupDeliveryTimeout, subgroup_delivery_timeout_ms);
  out.Number(kExpires, expires_ms);
  if (largest_object) {
    out.Number(kLargestObject, largest_object->group);
    out.body().Vi64(largest_object->object);
  }
  out.Number(kFillTimeout, fill_timeout_ms);
  out.Byte(kForward, AsByte(forward));
  out.Byte(kSubscriberPriority, subscriber_priority);
  if (filter) {
    out.Prefixed(kSubscriptionFilter, EncodeFilter(*filter));
  }
  out.Byte(kGroupOrder, AsByte(group_order));
  out.Number(kNewGroupRequest, new_group_request);
  if (namespace_prefix) {
    out.Type(kTrackNamespacePrefix);
    namespace_prefix->WriteTo(out.body());
  }
  out.Finish(writer);
}

Decoded<Parameters> Parameters::ReadFrom(ByteReader& reader, ParameterScope scope) {
  KVCAST_TRY(const uint64_t count, reader.Vi64());
  Parameters out;
  uint64_t type = 0;
  for (uint64_t i = 0; i < count; ++i) {
    KVCAST_TRY(const uint64_t delta, reader.Vi64());
    if (delta > std::numeric_limits<uint64_t>::max() - type) {
      return Fault::Violation("A parameter's type is past 2^64.");
    }
    if (i > 0 && delta == 0 && type != kAuthorizationToken) {
      return Fault::Violation("A parameter stands twice.");
    }
    type += delta;
    const Rule* rule = std::ranges::find(kRules, type, &Rule::type);
    if (rule == std::end(kRules)) {
      return Fault::Violation("Message parameter " + std::to_string(type) + " is unknown.");
    }
    if ((rule->scopes & static_cast<uint32_t>(scope)) == 0) {
      return Fault::Violation("Message parameter " + std::to_string(type) +
                              " may not stand in this message.");
    }
    KVCAST_TRY_VOID(ReadValue(reader, type, out));
  }
  return out;
}

}  // namespace kvcast::moqt
