#include "kvcast/moqt/message_json_test.h"

#include <map>
#include <optional>
#include <utility>

#include "kvcast/base/hex.h"

namespace kvcast::moqt {
namespace {

std::string Hex(std::string_view bytes) { return ToHex(AsBytes(bytes)); }

Json SpaceOut(const TrackNamespace& space) {
  Json fields = Json::array();
  for (size_t i = 0; i < space.field_count(); ++i) {
    fields.push_back(Hex(space.field(i)));
  }
  return fields;
}

void NameOut(Json& out, const TrackName& track) {
  out["namespace"] = SpaceOut(track.space());
  out["name"] = Hex(track.name());
}

Json TokenOut(const AuthToken& token) {
  using Type = AuthToken::AliasType;
  Json out = {{"alias_type", static_cast<uint64_t>(token.alias_type)}};
  if (token.alias_type != Type::kUseValue) {
    out["alias"] = token.alias;
  }
  if (token.alias_type == Type::kRegister || token.alias_type == Type::kUseValue) {
    out["type"] = token.type;
    out["value"] = Hex(token.value);
  }
  return out;
}

Json At(Location location) { return Json::array({location.group, location.object}); }
// On the wire an end is one past the last object, and 0 for a whole group.
Json End(Location last) { return Json::array({last.group, last.object + 1}); }

Json FilterOut(const SubscriptionFilter& filter) {
  using Type = SubscriptionFilter::Type;
  Json out = {{"type", static_cast<uint64_t>(filter.type)}};
  if (filter.type == Type::kAbsoluteStart || filter.type == Type::kAbsoluteRange) {
    out["start"] = At(filter.start);
  }
  if (filter.type == Type::kAbsoluteRange) {
    out["end_group"] = filter.end_group;
  }
  return out;
}

Json ParametersOut(const Parameters& parameters) {
  Json out = Json::array();
  const auto add = [&out](const char* name, Json value) {
    out.push_back({{"parameter", name}, {"value", std::move(value)}});
  };
  const auto number = [&add](const char* name, const std::optional<uint64_t>& value) {
    if (value) {
      add(name, *value);
    }
  };
  number("OBJECT_DELIVERY_TIMEOUT", parameters.object_delivery_timeout_ms);
  for (const AuthToken& token : parameters.auth_tokens) {
    add("AUTHORIZATION_TOKEN", TokenOut(token));
  }
  number("RENDEZVOUS_TIMEOUT", parameters.rendezvous_timeout_ms);
  number("SUBGROUP_DELIVERY_TIMEOUT", parameters.subgroup_delivery_timeout_ms);
  number("EXPIRES", parameters.expires_ms);
  if (parameters.largest_object) {
    add("LARGEST_OBJECT", At(*parameters.largest_object));
  }
  number("FILL_TIMEOUT", parameters.fill_timeout_ms);
  if (parameters.forward) {
    add("FORWARD", *parameters.forward ? 1u : 0u);
  }
  if (parameters.subscriber_priority) {
    add("SUBSCRIBER_PRIORITY", *parameters.subscriber_priority);
  }
  if (parameters.filter) {
    add("SUBSCRIPTION_FILTER", FilterOut(*parameters.filter));
  }
  if (parameters.group_order) {
    add("GROUP_ORDER", static_cast<uint64_t>(*parameters.group_order));
  }
  number("NEW_GROUP_REQUEST", parameters.new_group_request);
  if (parameters.namespace_prefix) {
    add("TRACK_NAMESPACE_PREFIX", SpaceOut(*parameters.namespace_prefix));
  }
  return out;
}

// What each message has beside its name.
struct Members {
  Json& out;

  void operator()(const Setup& setup) const {
    Json options = {{"tokens", Json::array()}};
    for (const AuthToken& token : setup.auth_tokens) {
      options["tokens"].push_back(TokenOut(token));
    }
    const auto text = [&options](const char* name, const std::optional<std::string>& value) {
      if (value) {
        options[name] = Hex(*value);
      }
    };
    text("path", setup.path);
    text("authority", setup.authority);
    text("implementation", setup.implementation);
    if (setup.auth_token_cache_bytes_max) {
      options["token_cache_bytes"] = *setup.auth_token_cache_bytes_max;
    }
    out["options"] = std::move(options);
  }
  void operator()(const GoAway& message) const {
    out["uri"] = Hex(message.uri);
    out["timeout_ms"] = message.timeout_ms;
    if (message.request_id) {
      out["request_id"] = *message.request_id;
    }
  }
  void operator()(const RequestOk& message) const {
    out["parameters"] = ParametersOut(message.parameters);
    out["properties"] = Hex(message.properties.encoded());
  }
  void operator()(const RequestError& message) const {
    out["error"] = static_cast<uint64_t>(message.code);
    out["retry_interval"] = message.retry_after_ms ? *message.retry_after_ms + 1 : 0;
    out["reason"] = Hex(message.reason);
    if (message.redirect) {
      out["redirect"] = {{"uri", Hex(message.redirect->uri)}};
      NameOut(out["redirect"], message.redirect->track);
    }
  }
  template <typename TrackRequest>
  void Request(const TrackRequest& message) const {
    out["request_id"] = message.request_id;
    out["parameters"] = ParametersOut(message.parameters);
  }
  void operator()(const Subscribe& message) const {
    Request(message);
    NameOut(out, message.track);
  }
  void operator()(const TrackStatus& message) const {
    Request(message);
    NameOut(out, message.track);
  }
  void operator()(const SubscribeOk& message) const {
    out["alias"] = message.alias;
    out["parameters"] = ParametersOut(message.parameters);
    out["properties"] = Hex(message.properties.encoded());
  }
  void operator()(const Publish& message) const {
    Request(message);
    NameOut(out, message.track);
    out["alias"] = message.alias;
    out["properties"] = Hex(message.properties.encoded());
  }
  void operator()(const PublishDone& message) const {
    out["status"] = static_cast<uint64_t>(message.code);
    out["streams"] = message.streams;
    out["reason"] = Hex(message.reason);
  }
  void operator()(const RequestUpdate& message) const { Request(message); }
  void operator()(const Fetch& message) const {
    Request(message);
    Json fetch = {{"type", static_cast<uint64_t>(message.type)}};
    if (message.type == Fetch::Type::kStandalone) {
      NameOut(fetch, message.track);
      fetch["start"] = At(message.range.first);
      fetch["end"] = End(message.range.last);
    } else {
      fetch["joining_request_id"] = message.joined_request_id;
      fetch["joining_start"] = message.joining_start;
    }
    out["fetch"] = std::move(fetch);
  }
  void operator()(const FetchOk& message) const {
    out["end_of_track"] = message.end_of_track ? 1u : 0u;
    out["end"] = End(message.last);
    out["parameters"] = ParametersOut(message.parameters);
    out["properties"] = Hex(message.properties.encoded());
  }
  void operator()(const PublishNamespace& message) const {
    Request(message);
    out["namespace"] = SpaceOut(message.space);
  }
  void operator()(const SubscribeNamespace& message) const {
    Request(message);
    out["namespace"] = SpaceOut(message.prefix);
  }
  void operator()(const SubscribeTracks& message) const {
    Request(message);
    out["namespace"] = SpaceOut(message.prefix);
  }
  void operator()(const Namespace& message) const { out["namespace"] = SpaceOut(message.below); }
  void operator()(const NamespaceDone& message) const {
    out["namespace"] = SpaceOut(message.below);
  }
  void operator()(const PublishBlocked& message) const { NameOut(out, message.track); }
};

Json ObjectOut(const Object& object) {
  return {{"object", object.location.object},
          {"properties", Hex(object.properties.encoded())},
          {"payload", Hex(object.payload.ToString())}};
}

}  // namespace

Json MessageOut(const Message& message, const std::string& as) {
  Json out = {{"message", as}};
  std::visit(Members{out}, message);
  return out;
}

MessagePlace PlaceOf(const std::string& as, Role sender) {
  using Kind = MessageKind;
  MessagePlace place{sender, false, std::nullopt, false};
  if (as == "SETUP" || as == "GOAWAY on the control stream") {
    place.control = true;
    return place;
  }
  static const std::map<std::string, Kind> within = {
      {"GOAWAY on a request", Kind::kSubscribe},
      {"PUBLISH_OK", Kind::kPublish},
      {"REQUEST_UPDATE_OK", Kind::kSubscribe},
      {"TRACK_STATUS_OK", Kind::kTrackStatus},
      {"SUBSCRIBE_NAMESPACE_OK", Kind::kSubscribeNamespace},
      {"SUBSCRIBE_TRACKS_OK", Kind::kSubscribeTracks},
      {"PUBLISH_NAMESPACE_OK", Kind::kPublishNamespace},
      {"REQUEST_ERROR", Kind::kFetch},
      {"SUBSCRIBE_OK", Kind::kSubscribe},
      {"REQUEST_UPDATE of a subscription", Kind::kSubscribe},
      {"REQUEST_UPDATE of a fetch", Kind::kFetch},
      {"REQUEST_UPDATE of a prefix", Kind::kSubscribeTracks},
      {"PUBLISH_DONE", Kind::kPublish},
      {"FETCH_OK", Kind::kFetch},
      {"NAMESPACE", Kind::kSubscribeNamespace},
      {"NAMESPACE_DONE", Kind::kSubscribeNamespace},
      {"PUBLISH_BLOCKED", Kind::kSubscribeTracks},
  };
  if (const auto found = within.find(as); found != within.end()) {
    place.request = found->second;
  }
  place.answers_update = as == "REQUEST_UPDATE_OK";
  return place;
}

Json SubgroupOut(const SubgroupHeader& header, const std::vector<Object>& objects) {
  Json list = Json::array();
  for (const Object& object : objects) {
    Json item = ObjectOut(object);
    item["status"] = static_cast<uint64_t>(object.status);
    list.push_back(std::move(item));
  }
  const auto subgroup = [&]() -> Json {
    switch (header.mode) {
      case SubgroupHeader::Mode::kZero:
        return 0u;
      case SubgroupHeader::Mode::kFirstObject:
        return "first object";
      default:
        return header.subgroup;
    }
  };
  return {{"header",
           {{"alias", header.alias},
            {"group", header.group},
            {"subgroup", subgroup()},
            {"priority", header.priority ? Json(*header.priority) : Json()},
            {"properties", header.properties ? 1u : 0u},
            {"end_of_group", header.end_of_group ? 1u : 0u},
            {"first_object", header.first_object ? 1u : 0u}}},
          {"objects", list}};
}

Json FetchOut(uint64_t request_id, GroupOrder order, const std::vector<FetchItem>& items) {
  Json list = Json::array();
  for (const FetchItem& item : items) {
    if (const RangeEnd* end = std::get_if<RangeEnd>(&item)) {
      list.push_back({{"range", end->unknown ? "unknown" : "non-existent"},
                      {"group", end->last.group},
                      {"object", end->last.object}});
      continue;
    }
    const Object& object = std::get<Object>(item);
    Json out = ObjectOut(object);
    out["group"] = object.location.group;
    out["subgroup"] = object.forwarding == Forwarding::kDatagram ? Json() : Json(object.subgroup);
    out["priority"] = object.priority;
    list.push_back(std::move(out));
  }
  return {{"request_id", request_id}, {"order", static_cast<uint64_t>(order)}, {"items", list}};
}

Json DatagramOut(const ObjectDatagram& datagram) {
  Json out = ObjectOut(datagram.object);
  out["alias"] = datagram.alias;
  out["group"] = datagram.object.location.group;
  out["priority"] = datagram.default_priority ? Json() : Json(datagram.object.priority);
  out["end_of_group"] = datagram.end_of_group ? 1u : 0u;
  out["status"] = static_cast<uint64_t>(datagram.object.status);
  return out;
}

}  // namespace kvcast::moqt
