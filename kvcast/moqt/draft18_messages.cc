#include "kvcast/moqt/draft18_messages.h"

#include <limits>
#include <string>
#include <string_view>
#include <utility>

#include "kvcast/moqt/draft18_parameters.h"
#include "kvcast/moqt/draft18_properties.h"
#include "kvcast/moqt/draft18_setup.h"

namespace kvcast::moqt::draft18 {
namespace {

void WriteText(ByteWriter& writer, std::string_view text) {
  writer.Vi64(text.size());
  writer.Write(text);
}

Decoded<std::string> ReadText(ByteReader& reader, size_t bytes_max) {
  KVCAST_TRY(const uint64_t length, reader.Vi64());
  if (length > bytes_max) {
    return Fault::Violation("A text of a message has " + std::to_string(length) +
                            " bytes, more than " + std::to_string(bytes_max) + ".");
  }
  KVCAST_TRY(std::string text, reader.Text(length));
  return text;
}

void WriteReason(ByteWriter& writer, std::string_view reason) {
  WriteText(writer, reason.substr(0, kReasonBytesMax));
}

// The last object included is one before the one on the wire; 0 there is a whole group, which is
// what 2^64 - 1 becomes when one is added.
void WriteEnd(ByteWriter& writer, Location last) {
  static_assert(LocationRange::kWholeGroup == std::numeric_limits<uint64_t>::max());
  writer.Vi64(last.group);
  writer.Vi64(last.object + 1);
}

Decoded<Location> ReadEnd(ByteReader& reader) {
  Location last;
  KVCAST_TRY(last.group, reader.Vi64());
  KVCAST_TRY(const uint64_t end, reader.Vi64());
  last.object = end - 1;
  return last;
}

// Track properties are what is left of a message.
Decoded<Properties> ReadRest(ByteReader& reader) {
  KVCAST_TRY(std::string encoded, reader.Text(reader.remaining()));
  return ReadTrackProperties(std::move(encoded));
}

// SUBSCRIBE and TRACK_STATUS:   request_id:vi64 track_name parameters
template <typename T>
void WriteTrackRequest(ByteWriter& writer, const T& message) {
  writer.Vi64(message.request_id);
  message.track.WriteTo(writer);
  WriteParameters(writer, message.parameters);
}

template <typename T>
Decoded<Message> ReadTrackRequest(ByteReader& reader, ParameterScope scope) {
  KVCAST_TRY(const uint64_t request_id, reader.Vi64());
  KVCAST_TRY(TrackName track, TrackName::ReadFrom(reader));
  KVCAST_TRY(Parameters parameters, ReadParameters(reader, scope));
  return Message(T{request_id, std::move(track), std::move(parameters)});
}

// PUBLISH_NAMESPACE, SUBSCRIBE_NAMESPACE, SUBSCRIBE_TRACKS:   request_id:vi64 namespace parameters
void WriteSpaceRequest(ByteWriter& writer, uint64_t request_id, const TrackNamespace& space,
                       const Parameters& parameters) {
  writer.Vi64(request_id);
  space.WriteTo(writer);
  WriteParameters(writer, parameters);
}

template <typename T>
Decoded<Message> ReadSpaceRequest(ByteReader& reader, ParameterScope scope) {
  KVCAST_TRY(const uint64_t request_id, reader.Vi64());
  KVCAST_TRY(TrackNamespace space, TrackNamespace::ReadFrom(reader));
  KVCAST_TRY(Parameters parameters, ReadParameters(reader, scope));
  return Message(T{request_id, std::move(space), std::move(parameters)});
}

Decoded<Message> ReadGoAway(ByteReader& reader, bool on_control_stream) {
  GoAway message;
  KVCAST_TRY(message.uri, ReadText(reader, kSessionUriBytesMax));
  KVCAST_TRY(message.timeout_ms, reader.Vi64());
  if (on_control_stream) {
    KVCAST_TRY(message.request_id, reader.Vi64());
  }
  return Message(std::move(message));
}

Decoded<Message> ReadRequestOk(ByteReader& reader, ParameterScope scope) {
  RequestOk message;
  KVCAST_TRY(message.parameters, ReadParameters(reader, scope));
  if (!reader.done() && scope != ParameterScope::kTrackStatusOk) {
    return Fault::Violation("Only TRACK_STATUS_OK carries track properties.");
  }
  KVCAST_TRY(message.properties, ReadRest(reader));
  return Message(std::move(message));
}

Decoded<Message> ReadRequestError(ByteReader& reader) {
  RequestError message;
  KVCAST_TRY(const uint64_t code, reader.Vi64());
  message.code = static_cast<RequestCode>(code);
  KVCAST_TRY(const uint64_t retry, reader.Vi64());
  if (retry > 0) {
    message.retry_after_ms = retry - 1;
  }
  KVCAST_TRY(message.reason, ReadText(reader, kReasonBytesMax));
  if (message.code == RequestCode::kRedirect) {
    KVCAST_TRY(std::string uri, ReadText(reader, reader.remaining()));
    KVCAST_TRY(TrackName track, TrackName::ReadFrom(reader));
    message.redirect = Redirect{std::move(uri), std::move(track)};
  }
  return Message(std::move(message));
}

Decoded<Message> ReadSubscribeOk(ByteReader& reader) {
  SubscribeOk message;
  KVCAST_TRY(message.alias, reader.Vi64());
  KVCAST_TRY(message.parameters, ReadParameters(reader, ParameterScope::kSubscribeOk));
  KVCAST_TRY(message.properties, ReadRest(reader));
  return Message(std::move(message));
}

Decoded<Message> ReadPublish(ByteReader& reader) {
  KVCAST_TRY(const uint64_t request_id, reader.Vi64());
  KVCAST_TRY(TrackName track, TrackName::ReadFrom(reader));
  KVCAST_TRY(const uint64_t alias, reader.Vi64());
  KVCAST_TRY(Parameters parameters, ReadParameters(reader, ParameterScope::kPublish));
  Publish message{request_id, std::move(track), alias, std::move(parameters), {}};
  Decoded<Properties> properties = ReadRest(reader);
  if (properties.ok()) {
    message.properties = *std::move(properties);
  } else if (properties.error().scope() == Fault::Scope::kTrack) {
    message.malformed = true;
  } else {
    return std::move(properties).error();
  }
  return Message(std::move(message));
}

Decoded<Message> ReadPublishDone(ByteReader& reader) {
  PublishDone message;
  KVCAST_TRY(const uint64_t code, reader.Vi64());
  message.code = static_cast<DoneCode>(code);
  KVCAST_TRY(message.streams, reader.Vi64());
  KVCAST_TRY(message.reason, ReadText(reader, kReasonBytesMax));
  return Message(std::move(message));
}

Decoded<Message> ReadRequestUpdate(ByteReader& reader, ParameterScope scope) {
  RequestUpdate message;
  KVCAST_TRY(message.request_id, reader.Vi64());
  KVCAST_TRY(message.parameters, ReadParameters(reader, scope));
  return Message(std::move(message));
}

Decoded<Message> ReadFetch(ByteReader& reader) {
  Fetch message;
  KVCAST_TRY(message.request_id, reader.Vi64());
  KVCAST_TRY(const uint64_t type, reader.Vi64());
  if (type < 1 || type > 3) {
    return Fault::Violation("A fetch's type is 1 to 3.");
  }
  message.type = static_cast<Fetch::Type>(type);
  if (message.type == Fetch::Type::kStandalone) {
    KVCAST_TRY(message.track, TrackName::ReadFrom(reader));
    KVCAST_TRY(message.range.first.group, reader.Vi64());
    KVCAST_TRY(message.range.first.object, reader.Vi64());
    KVCAST_TRY(message.range.last, ReadEnd(reader));
  } else {
    KVCAST_TRY(message.joined_request_id, reader.Vi64());
    KVCAST_TRY(message.joining_start, reader.Vi64());
  }
  KVCAST_TRY(message.parameters, ReadParameters(reader, ParameterScope::kFetch));
  return Message(std::move(message));
}

Decoded<Message> ReadFetchOk(ByteReader& reader) {
  FetchOk message;
  KVCAST_TRY(const uint8_t end_of_track, reader.U8());
  if (end_of_track > 1) {
    return Fault::Violation("End Of Track is 0 or 1.");
  }
  message.end_of_track = end_of_track == 1;
  KVCAST_TRY(message.last, ReadEnd(reader));
  KVCAST_TRY(message.parameters, ReadParameters(reader, ParameterScope::kFetchOk));
  KVCAST_TRY(message.properties, ReadRest(reader));
  return Message(std::move(message));
}

template <typename T>
Decoded<Message> ReadSuffix(ByteReader& reader) {
  KVCAST_TRY(TrackNamespace below, TrackNamespace::ReadFrom(reader));
  return Message(T{std::move(below)});
}

Decoded<Message> ReadPublishBlocked(ByteReader& reader) {
  KVCAST_TRY(TrackName track, TrackName::ReadFrom(reader));
  return Message(PublishBlocked{std::move(track)});
}

Decoded<Message> ReadSetupMessage(ByteReader& reader, Role sender) {
  KVCAST_TRY(Setup setup, ReadSetup(reader, sender));
  return Message(std::move(setup));
}

// What an OK answers, and what an update changes. REQUIRES: the place is on a request's stream.
ParameterScope ScopeOfOk(const MessagePlace& place) {
  if (place.answers_update) {
    return ParameterScope::kUpdateOk;
  }
  switch (*place.request) {
    case MessageKind::kPublish:
      return ParameterScope::kPublishOk;
    case MessageKind::kTrackStatus:
      return ParameterScope::kTrackStatusOk;
    default:
      return ParameterScope::kNamespaceOk;
  }
}

ParameterScope ScopeOfUpdate(const MessagePlace& place) {
  switch (*place.request) {
    case MessageKind::kFetch:
      return ParameterScope::kUpdateFetch;
    case MessageKind::kPublishNamespace:
      return ParameterScope::kUpdatePublishNamespace;
    case MessageKind::kSubscribeNamespace:
    case MessageKind::kSubscribeTracks:
      return ParameterScope::kUpdatePrefix;
    default:
      return ParameterScope::kUpdateSubscription;
  }
}

// REQUIRES: the message has parameters.
ParameterScope ScopeOf(MessageKind kind, const MessagePlace& place) {
  switch (kind) {
    case MessageKind::kRequestOk:
      return ScopeOfOk(place);
    case MessageKind::kRequestUpdate:
      return ScopeOfUpdate(place);
    case MessageKind::kSubscribe:
      return ParameterScope::kSubscribe;
    case MessageKind::kSubscribeOk:
      return ParameterScope::kSubscribeOk;
    case MessageKind::kPublish:
      return ParameterScope::kPublish;
    case MessageKind::kFetch:
      return ParameterScope::kFetch;
    case MessageKind::kFetchOk:
      return ParameterScope::kFetchOk;
    case MessageKind::kTrackStatus:
      return ParameterScope::kTrackStatus;
    case MessageKind::kPublishNamespace:
      return ParameterScope::kPublishNamespace;
    case MessageKind::kSubscribeNamespace:
      return ParameterScope::kSubscribeNamespace;
    default:
      KVCAST_CHECK(kind == MessageKind::kSubscribeTracks);
      return ParameterScope::kSubscribeTracks;
  }
}

}  // namespace

Result<void> CheckParameters(const Message& message, const MessagePlace& place) {
  return std::visit(
      [&](const auto& any) -> Result<void> {
        if constexpr (requires { any.parameters; }) {
          return CheckScope(any.parameters, ScopeOf(KindOf(message), place));
        } else {
          return {};
        }
      },
      message);
}

void WriteBody(ByteWriter& writer, const Setup& message) { WriteSetup(writer, message); }

// goaway := uri_length:vi64 uri timeout_ms:vi64 [request_id:vi64]
void WriteBody(ByteWriter& writer, const GoAway& message) {
  WriteText(writer, message.uri);
  writer.Vi64(message.timeout_ms);
  if (message.request_id) {
    writer.Vi64(*message.request_id);
  }
}

// request_ok := parameters track_properties
void WriteBody(ByteWriter& writer, const RequestOk& message) {
  WriteParameters(writer, message.parameters);
  writer.Write(message.properties.encoded());
}

// request_error := code:vi64 retry_interval:vi64 reason_length:vi64 reason [redirect]
// redirect      := uri_length:vi64 uri track_name
void WriteBody(ByteWriter& writer, const RequestError& message) {
  KVCAST_CHECK(message.redirect.has_value() == (message.code == RequestCode::kRedirect));
  writer.Vi64(static_cast<uint64_t>(message.code));
  writer.Vi64(message.retry_after_ms ? *message.retry_after_ms + 1 : 0);
  WriteReason(writer, message.reason);
  if (message.redirect) {
    WriteText(writer, message.redirect->uri);
    message.redirect->track.WriteTo(writer);
  }
}

void WriteBody(ByteWriter& writer, const Subscribe& message) { WriteTrackRequest(writer, message); }

// subscribe_ok := alias:vi64 parameters track_properties
void WriteBody(ByteWriter& writer, const SubscribeOk& message) {
  writer.Vi64(message.alias);
  WriteParameters(writer, message.parameters);
  writer.Write(message.properties.encoded());
}

// publish := request_id:vi64 track_name alias:vi64 parameters track_properties
void WriteBody(ByteWriter& writer, const Publish& message) {
  writer.Vi64(message.request_id);
  message.track.WriteTo(writer);
  writer.Vi64(message.alias);
  WriteParameters(writer, message.parameters);
  writer.Write(message.properties.encoded());
}

// publish_done := code:vi64 streams:vi64 reason_length:vi64 reason
void WriteBody(ByteWriter& writer, const PublishDone& message) {
  writer.Vi64(static_cast<uint64_t>(message.code));
  writer.Vi64(message.streams);
  WriteReason(writer, message.reason);
}

// request_update := request_id:vi64 parameters
void WriteBody(ByteWriter& writer, const RequestUpdate& message) {
  writer.Vi64(message.request_id);
  WriteParameters(writer, message.parameters);
}

// fetch := request_id:vi64 type:vi64 (track_name start:location end:location |
//                                     joined_request_id:vi64 joining_start:vi64) parameters
// The end is one past the last object, and 0 for a whole group.
void WriteBody(ByteWriter& writer, const Fetch& message) {
  writer.Vi64(message.request_id);
  writer.Vi64(static_cast<uint64_t>(message.type));
  if (message.type == Fetch::Type::kStandalone) {
    message.track.WriteTo(writer);
    writer.Vi64(message.range.first.group);
    writer.Vi64(message.range.first.object);
    WriteEnd(writer, message.range.last);
  } else {
    writer.Vi64(message.joined_request_id);
    writer.Vi64(message.joining_start);
  }
  WriteParameters(writer, message.parameters);
}

// fetch_ok := end_of_track:u8 end:location parameters track_properties
void WriteBody(ByteWriter& writer, const FetchOk& message) {
  writer.U8(message.end_of_track ? 1 : 0);
  WriteEnd(writer, message.last);
  WriteParameters(writer, message.parameters);
  writer.Write(message.properties.encoded());
}

void WriteBody(ByteWriter& writer, const TrackStatus& message) {
  WriteTrackRequest(writer, message);
}

void WriteBody(ByteWriter& writer, const PublishNamespace& message) {
  WriteSpaceRequest(writer, message.request_id, message.space, message.parameters);
}

void WriteBody(ByteWriter& writer, const SubscribeNamespace& message) {
  WriteSpaceRequest(writer, message.request_id, message.prefix, message.parameters);
}

// namespace, namespace_done := namespace, after the prefix
void WriteBody(ByteWriter& writer, const Namespace& message) { message.below.WriteTo(writer); }
void WriteBody(ByteWriter& writer, const NamespaceDone& message) { message.below.WriteTo(writer); }

void WriteBody(ByteWriter& writer, const SubscribeTracks& message) {
  WriteSpaceRequest(writer, message.request_id, message.prefix, message.parameters);
}

// publish_blocked := track_name, after the prefix
void WriteBody(ByteWriter& writer, const PublishBlocked& message) { message.track.WriteTo(writer); }

Decoded<Message> ReadBody(ByteReader& reader, MessageKind kind, const MessagePlace& place) {
  switch (kind) {
    case MessageKind::kSetup:
      return ReadSetupMessage(reader, place.sender);
    case MessageKind::kGoAway:
      return ReadGoAway(reader, place.control);
    case MessageKind::kRequestOk:
      return ReadRequestOk(reader, ScopeOf(kind, place));
    case MessageKind::kRequestError:
      return ReadRequestError(reader);
    case MessageKind::kSubscribe:
      return ReadTrackRequest<Subscribe>(reader, ScopeOf(kind, place));
    case MessageKind::kSubscribeOk:
      return ReadSubscribeOk(reader);
    case MessageKind::kPublish:
      return ReadPublish(reader);
    case MessageKind::kPublishDone:
      return ReadPublishDone(reader);
    case MessageKind::kRequestUpdate:
      return ReadRequestUpdate(reader, ScopeOf(kind, place));
    case MessageKind::kFetch:
      return ReadFetch(reader);
    case MessageKind::kFetchOk:
      return ReadFetchOk(reader);
    case MessageKind::kTrackStatus:
      return ReadTrackRequest<TrackStatus>(reader, ScopeOf(kind, place));
    case MessageKind::kPublishNamespace:
      return ReadSpaceRequest<PublishNamespace>(reader, ScopeOf(kind, place));
    case MessageKind::kSubscribeNamespace:
      return ReadSpaceRequest<SubscribeNamespace>(reader, ScopeOf(kind, place));
    case MessageKind::kNamespace:
      return ReadSuffix<Namespace>(reader);
    case MessageKind::kNamespaceDone:
      return ReadSuffix<NamespaceDone>(reader);
    case MessageKind::kSubscribeTracks:
      return ReadSpaceRequest<SubscribeTracks>(reader, ScopeOf(kind, place));
    case MessageKind::kPublishBlocked:
      return ReadPublishBlocked(reader);
  }
  return Fault::Violation("There is no such message.");
}

}  // namespace kvcast::moqt::draft18
