#include "kvcast/moqt/messages.h"

#include <limits>

#include "kvcast/base/byte_reader.h"
#include "kvcast/base/byte_writer.h"
#include "kvcast/moqt/frame.h"
#include "kvcast/moqt/property_rules.h"

namespace kvcast::moqt {
namespace {

Decoded<void> Finished(const ByteReader& reader) {
  if (!reader.done()) {
    return Fault::Violation("A message is longer than its fields.");
  }
  return {};
}

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

Decoded<Properties> ReadRest(ByteReader& reader) {
  KVCAST_TRY(std::string encoded, reader.Text(reader.remaining()));
  return ReadTrackProperties(std::move(encoded));
}

template <typename Message>
Result<Bytes> EncodeTrackRequest(MessageType type, const Message& message) {
  ByteWriter writer;
  writer.Vi64(message.request_id);
  message.track.WriteTo(writer);
  message.parameters.WriteTo(writer);
  return EncodeFrame(type, writer);
}

template <typename Message>
Decoded<Message> DecodeTrackRequest(std::string_view body, ParameterScope scope) {
  ByteReader reader(AsBytes(body));
  KVCAST_TRY(const uint64_t request_id, reader.Vi64());
  KVCAST_TRY(TrackName track, TrackName::ReadFrom(reader));
  KVCAST_TRY(Parameters parameters, Parameters::ReadFrom(reader, scope));
  KVCAST_TRY_VOID(Finished(reader));
  return Message{request_id, std::move(track), std::move(parameters)};
}

}  // namespace

Result<Bytes> GoAway::Encode() const {
  ByteWriter writer;
  WriteText(writer, uri);
  writer.Vi64(timeout_ms);
  if (request_id) {
    writer.Vi64(*request_id);
  }
  return EncodeFrame(MessageType::kGoAway, writer);
}

Decoded<GoAway> GoAway::Decode(std::string_view body, bool on_control_stream) {
  ByteReader reader(AsBytes(body));
  GoAway message;
  KVCAST_TRY(message.uri, ReadText(reader, kSessionUriBytesMax));
  KVCAST_TRY(message.timeout_ms, reader.Vi64());
  if (on_control_stream) {
    KVCAST_TRY(message.request_id, reader.Vi64());
  }
  KVCAST_TRY_VOID(Finished(reader));
  return message;
}

Result<Bytes> RequestOk::Encode() const {
  ByteWriter writer;
  parameters.WriteTo(writer);
  writer.Write(properties.encoded());
  return EncodeFrame(MessageType::kRequestOk, writer);
}

Decoded<RequestOk> RequestOk::Decode(std::string_view body, ParameterScope scope) {
  ByteReader reader(AsBytes(body));
  RequestOk message;
  KVCAST_TRY(message.parameters, Parameters::ReadFrom(reader, scope));
  if (!reader.done() && scope != ParameterScope::kTrackStatusOk) {
    return Fault::Violation("Only TRACK_STATUS_OK carries track properties.");
  }
  KVCAST_TRY(message.properties, ReadRest(reader));
  return message;
}

Result<Bytes> RequestError::Encode() const {
  KVCAST_CHECK(redirect.has_value() == (code == RequestCode::kRedirect));
  ByteWriter writer;
  writer.Vi64(static_cast<uint64_t>(code));
  writer.Vi64(retry_after_ms ? *retry_after_ms + 1 : 0);
  WriteReason(writer, reason);
  if (redirect) {
    WriteText(writer, redirect->uri);
    redirect->track.WriteTo(writer);
  }
  return EncodeFrame(MessageType::kRequestError, writer);
}

Decoded<RequestError> RequestError::Decode(std::string_view body) {
  ByteReader reader(AsBytes(body));
  RequestError message;
  KVCAST_TRY(const uint64_t code, reader.Vi64());
  message.code = static_cast<RequestCode>(code);
  KVCAST_TRY(const uint64_t retry, reader.Vi64());
  if (retry > 0) {
    message.retry_after_ms = retry - 1;
  }
  KVCAST_TRY(message.reason, ReadText(reader, kReasonBytesMax));
  if (message.code == RequestCode::kRedirect) {
    KVCAST_TRY(std::string uri, ReadText(reader, kMessageBytesMax));
    KVCAST_TRY(TrackName track, TrackName::ReadFrom(reader));
    message.redirect = Redirect{std::move(uri), std::move(track)};
  }
  KVCAST_TRY_VOID(Finished(reader));
  return message;
}

Result<Bytes> Subscribe::Encode() const {
  return EncodeTrackRequest(MessageType::kSubscribe, *this);
}

Decoded<Subscribe> Subscribe::Decode(std::string_view body) {
  return DecodeTrackRequest<Subscribe>(body, ParameterScope::kSubscribe);
}

Result<Bytes> TrackStatus::Encode() const {
  return EncodeTrackRequest(MessageType::kTrackStatus, *this);
}

Decoded<TrackStatus> TrackStatus::Decode(std::string_view body) {
  return DecodeTrackRequest<TrackStatus>(body, ParameterScope::kTrackStatus);
}

Result<Bytes> SubscribeTracks::Encode() const {
  ByteWriter writer;
  writer.Vi64(request_id);
  prefix.WriteTo(writer);
  parameters.WriteTo(writer);
  return EncodeFrame(MessageType::kSubscribeTracks, writer);
}

Decoded<SubscribeTracks> SubscribeTracks::Decode(std::string_view body) {
  ByteReader reader(AsBytes(body));
  SubscribeTracks message;
  KVCAST_TRY(message.request_id, reader.Vi64());
  KVCAST_TRY(message.prefix, TrackNamespace::ReadFrom(reader));
  KVCAST_TRY(message.parameters, Parameters::ReadFrom(reader, ParameterScope::kSubscribeTracks));
  KVCAST_TRY_VOID(Finished(reader));
  return message;
}

Result<Bytes> PublishBlocked::Encode() const {
  ByteWriter writer;
  track.WriteTo(writer);
  return EncodeFrame(MessageType::kPublishBlocked, writer);
}

Decoded<PublishBlocked> PublishBlocked::Decode(std::string_view body) {
  ByteReader reader(AsBytes(body));
  KVCAST_TRY(TrackName track, TrackName::ReadFrom(reader));
  KVCAST_TRY_VOID(Finished(reader));
  return PublishBlocked{std::move(track)};
}

Result<Bytes> SubscribeOk::Encode() const {
  ByteWriter writer;
  writer.Vi64(alias);
  parameters.WriteTo(writer);
  writer.Write(properties.encoded());
  return EncodeFrame(MessageType::kSubscribeOk, writer);
}

Decoded<SubscribeOk> SubscribeOk::Decode(std::string_view body) {
  ByteReader reader(AsBytes(body));
  SubscribeOk message;
  KVCAST_TRY(message.alias, reader.Vi64());
  KVCAST_TRY(message.parameters, Parameters::ReadFrom(reader, ParameterScope::kSubscribeOk));
  KVCAST_TRY(message.properties, ReadRest(reader));
  return message;
}

Result<Bytes> RequestUpdate::Encode() const {
  ByteWriter writer;
  writer.Vi64(request_id);
  parameters.WriteTo(writer);
  return EncodeFrame(MessageType::kRequestUpdate, writer);
}

Decoded<RequestUpdate> RequestUpdate::Decode(std::string_view body, ParameterScope scope) {
  ByteReader reader(AsBytes(body));
  RequestUpdate message;
  KVCAST_TRY(message.request_id, reader.Vi64());
  KVCAST_TRY(message.parameters, Parameters::ReadFrom(reader, scope));
  KVCAST_TRY_VOID(Finished(reader));
  return message;
}

Result<Bytes> Publish::Encode() const {
  ByteWriter writer;
  writer.Vi64(request_id);
  track.WriteTo(writer);
  writer.Vi64(alias);
  parameters.WriteTo(writer);
  writer.Write(properties.encoded());
  return EncodeFrame(MessageType::kPublish, writer);
}

Decoded<Publish> Publish::Decode(std::string_view body) {
  ByteReader reader(AsBytes(body));
  KVCAST_TRY(const uint64_t request_id, reader.Vi64());
  KVCAST_TRY(TrackName track, TrackName::ReadFrom(reader));
  KVCAST_TRY(const uint64_t alias, reader.Vi64());
  KVCAST_TRY(Parameters parameters, Parameters::ReadFrom(reader, ParameterScope::kPublish));
  KVCAST_TRY(Properties properties, ReadRest(reader));
  return Publish{request_id, std::move(track), alias, std::move(parameters), std::move(properties)};
}

Result<Bytes> PublishDone::Encode() const {
  ByteWriter writer;
  writer.Vi64(static_cast<uint64_t>(code));
  writer.Vi64(streams);
  WriteReason(writer, reason);
  return EncodeFrame(MessageType::kPublishDone, writer);
}

Decoded<PublishDone> PublishDone::Decode(std::string_view body) {
  ByteReader reader(AsBytes(body));
  PublishDone message;
  KVCAST_TRY(const uint64_t code, reader.Vi64());
  message.code = static_cast<DoneCode>(code);
  KVCAST_TRY(message.streams, reader.Vi64());
  KVCAST_TRY(message.reason, ReadText(reader, kReasonBytesMax));
  KVCAST_TRY_VOID(Finished(reader));
  return message;
}

Result<Bytes> Fetch::Encode() const {
  ByteWriter writer;
  writer.Vi64(request_id);
  writer.Vi64(static_cast<uint64_t>(type));
  if (type == Type::kStandalone) {
    track.WriteTo(writer);
    writer.Vi64(range.first.group);
    writer.Vi64(range.first.object);
    WriteEnd(writer, range.last);
  } else {
    writer.Vi64(joined_request_id);
    writer.Vi64(joining_start);
  }
  parameters.WriteTo(writer);
  return EncodeFrame(MessageType::kFetch, writer);
}

Decoded<Fetch> Fetch::Decode(std::string_view body) {
  ByteReader reader(AsBytes(body));
  Fetch message;
  KVCAST_TRY(message.request_id, reader.Vi64());
  KVCAST_TRY(const uint64_t type, reader.Vi64());
  if (type < 1 || type > 3) {
    return Fault::Violation("A fetch's type is 1 to 3.");
  }
  message.type = static_cast<Type>(type);
  if (message.type == Type::kStandalone) {
    KVCAST_TRY(message.track, TrackName::ReadFrom(reader));
    KVCAST_TRY(message.range.first.group, reader.Vi64());
    KVCAST_TRY(message.range.first.object, reader.Vi64());
    KVCAST_TRY(message.range.last, ReadEnd(reader));
  } else {
    KVCAST_TRY(message.joined_request_id, reader.Vi64());
    KVCAST_TRY(message.joining_start, reader.Vi64());
  }
  KVCAST_TRY(message.parameters, Parameters::ReadFrom(reader, ParameterScope::kFetch));
  KVCAST_TRY_VOID(Finished(reader));
  return message;
}

Result<Bytes> FetchOk::Encode() const {
  ByteWriter writer;
  writer.U8(end_of_track ? 1 : 0);
  WriteEnd(writer, last);
  parameters.WriteTo(writer);
  writer.Write(properties.encoded());
  return EncodeFrame(MessageType::kFetchOk, writer);
}

Decoded<FetchOk> FetchOk::Decode(std::string_view body) {
  ByteReader reader(AsBytes(body));
  FetchOk message;
  KVCAST_TRY(const uint8_t end_of_track, reader.U8());
  if (end_of_track > 1) {
    return Fault::Violation("End Of Track is 0 or 1.");
  }
  message.end_of_track = end_of_track == 1;
  KVCAST_TRY(message.last, ReadEnd(reader));
  KVCAST_TRY(message.parameters, Parameters::ReadFrom(reader, ParameterScope::kFetchOk));
  KVCAST_TRY(message.properties, ReadRest(reader));
  return message;
}

}  // namespace kvcast::moqt
