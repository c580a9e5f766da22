#include "kvcast/moqt/draft18_parameters.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <optional>
#include <utility>

namespace kvcast::moqt::draft18 {
namespace {

enum class Encoding : uint8_t {
  kNumber,    // value:vi64
  kPriority,  // value:u8
  kForward,   // 0:u8 | 1:u8
  kOrder,     // 1:u8 | 2:u8
  kLocation,  // group:vi64 object:vi64
  kToken,     // length:vi64 token; may stand more than once
  kFilter,    // length:vi64 type:vi64 [start:location [end_group_delta:vi64]]
  kPrefix,    // namespace
};

struct Row {
  uint64_t type;
  Encoding encoding;
  uint32_t scopes;
  std::optional<uint64_t> Parameters::*number = nullptr;  // Where a kNumber goes.
};

using S = ParameterScope;

template <typename... Scopes>
constexpr uint32_t In(Scopes... scopes) {
  return (static_cast<uint32_t>(scopes) | ...);
}

// In REQUEST_UPDATE, whatever it changes; a timeout of what has none means nothing.
constexpr uint32_t kAnyUpdate =
    In(S::kUpdateSubscription, S::kUpdateFetch, S::kUpdatePublishNamespace, S::kUpdatePrefix);

// By rising type. TRACK_STATUS_OK carries what SUBSCRIBE_OK would have, and so EXPIRES as well,
// although the parameter's own definition does not list it.
constexpr Row kRows[] = {
    {0x02, Encoding::kNumber, In(S::kPublishOk, S::kSubscribe) | kAnyUpdate,
     &Parameters::object_delivery_timeout_ms},
    {0x03, Encoding::kToken,
     In(S::kPublish, S::kSubscribe, S::kFetch, S::kTrackStatus, S::kPublishNamespace,
        S::kSubscribeNamespace, S::kSubscribeTracks) |
         kAnyUpdate},
    {0x04, Encoding::kNumber, In(S::kSubscribe), &Parameters::rendezvous_timeout_ms},
    {0x06, Encoding::kNumber, In(S::kPublishOk, S::kSubscribe) | kAnyUpdate,
     &Parameters::subgroup_delivery_timeout_ms},
    {0x08, Encoding::kNumber,
     In(S::kSubscribeOk, S::kPublish, S::kPublishOk, S::kUpdateOk, S::kTrackStatusOk),
     &Parameters::expires_ms},
    {0x09, Encoding::kLocation, In(S::kSubscribeOk, S::kPublish, S::kUpdateOk, S::kTrackStatusOk)},
    {0x0a, Encoding::kNumber, In(S::kFetch), &Parameters::fill_timeout_ms},
    {0x10, Encoding::kForward,
     In(S::kSubscribe, S::kUpdateSubscription, S::kPublish, S::kPublishOk, S::kSubscribeTracks)},
    {0x20, Encoding::kPriority,
     In(S::kSubscribe, S::kFetch, S::kUpdateSubscription, S::kUpdateFetch, S::kPublishOk)},
    {0x21, Encoding::kFilter, In(S::kSubscribe, S::kPublishOk, S::kUpdateSubscription)},
    {0x22, Encoding::kOrder, In(S::kSubscribe, S::kPublishOk, S::kFetch)},
    {0x32, Encoding::kNumber, In(S::kPublishOk, S::kSubscribe, S::kUpdateSubscription),
     &Parameters::new_group_request},
    {0x34, Encoding::kPrefix, In(S::kUpdatePrefix)},
};
static_assert(std::ranges::is_sorted(kRows, {}, &Row::type));

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

Decoded<void> ReadOrder(ByteReader& reader, Parameters& out) {
  KVCAST_TRY(const uint8_t value, reader.U8());
  if (value != 1 && value != 2) {
    return Fault::Violation("GROUP_ORDER is 1 or 2.");
  }
  out.group_order = static_cast<GroupOrder>(value);
  return {};
}

Decoded<void> ReadValue(ByteReader& reader, const Row& row, Parameters& out) {
  switch (row.encoding) {
    case Encoding::kNumber: {
      KVCAST_TRY(out.*row.number, reader.Vi64());
      return {};
    }
    case Encoding::kPriority: {
      KVCAST_TRY(out.subscriber_priority, reader.U8());
      return {};
    }
    case Encoding::kForward:
      return ReadForward(reader, out);
    case Encoding::kOrder:
      return ReadOrder(reader, out);
    case Encoding::kLocation: {
      Location largest;
      KVCAST_TRY(largest.group, reader.Vi64());
      KVCAST_TRY(largest.object, reader.Vi64());
      out.largest_object = largest;
      return {};
    }
    case Encoding::kToken: {
      KVCAST_TRY(const std::string encoded, ReadPrefixed(reader));
      KVCAST_TRY(AuthToken token, DecodeToken(encoded));
      out.auth_tokens.push_back(std::move(token));
      return {};
    }
    case Encoding::kFilter: {
      KVCAST_TRY(const std::string encoded, ReadPrefixed(reader));
      KVCAST_TRY(out.filter, DecodeFilter(encoded));
      return {};
    }
    case Encoding::kPrefix: {
      KVCAST_TRY(out.namespace_prefix, TrackNamespace::ReadFrom(reader));
      return {};
    }
  }
  return {};
}

// Counts and writes parameters, which must come by rising type.
class ParameterWriter {
 public:
  void Write(const Row& row, const Parameters& parameters);
  uint64_t count() const { return count_; }
  void Finish(ByteWriter& out) {
    out.Vi64(count_);
    out.Share(body_.Take());
  }

 private:
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
  template <typename T>
  void Byte(uint64_t type, const std::optional<T>& value) {
    if (value) {
      Type(type);
      body_.U8(static_cast<uint8_t>(*value));
    }
  }
  void Prefixed(uint64_t type, std::string_view value) {
    Type(type);
    body_.Vi64(value.size());
    body_.Write(value);
  }

  ByteWriter body_;
  uint64_t previous_ = 0;
  uint64_t count_ = 0;
};

void ParameterWriter::Write(const Row& row, const Parameters& parameters) {
  switch (row.encoding) {
    case Encoding::kNumber:
      return Number(row.type, parameters.*row.number);
    case Encoding::kPriority:
      return Byte(row.type, parameters.subscriber_priority);
    case Encoding::kForward:
      return Byte(row.type, parameters.forward);
    case Encoding::kOrder:
      return Byte(row.type, parameters.group_order);
    case Encoding::kLocation:
      if (parameters.largest_object) {
        Number(row.type, parameters.largest_object->group);
        body_.Vi64(parameters.largest_object->object);
      }
      return;
    case Encoding::kToken:
      for (const AuthToken& token : parameters.auth_tokens) {
        Prefixed(row.type, EncodeToken(token));
      }
      return;
    case Encoding::kFilter:
      if (parameters.filter) {
        Prefixed(row.type, EncodeFilter(*parameters.filter));
      }
      return;
    case Encoding::kPrefix:
      if (parameters.namespace_prefix) {
        Type(row.type);
        parameters.namespace_prefix->WriteTo(body_);
      }
      return;
  }
}

using AliasType = AuthToken::AliasType;

bool HasAlias(AliasType type) { return type != AliasType::kUseValue; }
bool HasValue(AliasType type) {
  return type == AliasType::kRegister || type == AliasType::kUseValue;
}

Result<AuthToken> ReadToken(std::string_view encoded) {
  ByteReader reader(AsBytes(encoded));
  AuthToken token;
  KVCAST_TRY(const uint64_t alias_type, reader.Vi64());
  if (alias_type > static_cast<uint64_t>(AliasType::kUseValue)) {
    return reader.Malformed("A token's alias type is 0 to 3.");
  }
  token.alias_type = static_cast<AliasType>(alias_type);
  if (HasAlias(token.alias_type)) {
    KVCAST_TRY(token.alias, reader.Vi64());
  }
  if (HasValue(token.alias_type)) {
    KVCAST_TRY(token.type, reader.Vi64());
    KVCAST_TRY(token.value, reader.Text(reader.remaining()));
  }
  if (!reader.done()) {
    return reader.Malformed("More bytes follow a token's alias.");
  }
  return token;
}

}  // namespace

void WriteParameters(ByteWriter& writer, const Parameters& parameters) {
  ParameterWriter out;
  for (const Row& row : kRows) {
    out.Write(row, parameters);
  }
  out.Finish(writer);
}

Result<void> CheckScope(const Parameters& parameters, ParameterScope scope) {
  for (const Row& row : kRows) {
    if ((row.scopes & static_cast<uint32_t>(scope)) != 0) {
      continue;
    }
    ParameterWriter misplaced;
    misplaced.Write(row, parameters);
    if (misplaced.count() > 0) {
      return Error(ErrorCode::kInvalid, "Message parameter " + std::to_string(row.type) +
                                            " may not stand in this message.");
    }
  }
  return {};
}

Decoded<Parameters> ReadParameters(ByteReader& reader, ParameterScope scope) {
  KVCAST_TRY(const uint64_t count, reader.Vi64());
  Parameters out;
  uint64_t type = 0;
  for (uint64_t i = 0; i < count; ++i) {
    KVCAST_TRY(const uint64_t delta, reader.Vi64());
    if (delta > std::numeric_limits<uint64_t>::max() - type) {
      return Fault::Violation("A parameter's type is past 2^64.");
    }
    type += delta;
    const Row* row = std::ranges::find(kRows, type, &Row::type);
    if (row == std::end(kRows)) {
      return Fault::Violation("Message parameter " + std::to_string(type) + " is unknown.");
    }
    if (i > 0 && delta == 0 && row->encoding != Encoding::kToken) {
      return Fault::Violation("A parameter stands twice.");
    }
    if ((row->scopes & static_cast<uint32_t>(scope)) == 0) {
      return Fault::Violation("Message parameter " + std::to_string(type) +
                              " may not stand in this message.");
    }
    KVCAST_TRY_VOID(ReadValue(reader, *row, out));
  }
  return out;
}

std::string EncodeToken(const AuthToken& token) {
  ByteWriter writer;
  writer.Vi64(static_cast<uint64_t>(token.alias_type));
  if (HasAlias(token.alias_type)) {
    writer.Vi64(token.alias);
  }
  if (HasValue(token.alias_type)) {
    writer.Vi64(token.type);
    writer.Write(token.value);
  }
  return writer.Take().ToString();
}

Decoded<AuthToken> DecodeToken(std::string_view encoded) {
  Result<AuthToken> token = ReadToken(encoded);
  if (!token.ok()) {
    return Fault::Session(SessionCode::kKeyValueFormattingError, token.error().ToString());
  }
  return *std::move(token);
}

}  // namespace kvcast::moqt::draft18
