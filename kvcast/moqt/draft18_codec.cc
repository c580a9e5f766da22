#include "kvcast/moqt/draft18_codec.h"

#include <algorithm>
#include <iterator>

#include "kvcast/base/byte_reader.h"
#include "kvcast/base/byte_writer.h"
#include "kvcast/base/vi64.h"
#include "kvcast/moqt/draft18_datagram.h"
#include "kvcast/moqt/draft18_fetch.h"
#include "kvcast/moqt/draft18_messages.h"
#include "kvcast/moqt/draft18_properties.h"
#include "kvcast/moqt/draft18_subgroup.h"
#include "kvcast/moqt/shape.h"

namespace kvcast::moqt {
namespace {

// Where a message may stand.
enum Stream : uint8_t { kControl = 1, kFirst = 2, kLater = 4 };  // Of a request's stream.

struct Row {
  uint64_t type;
  MessageKind kind;
  uint8_t streams;
};

constexpr Row kRows[] = {
    {0x2f00, MessageKind::kSetup, kControl},
    {0x10, MessageKind::kGoAway, kControl | kLater},
    {0x07, MessageKind::kRequestOk, kLater},
    {0x05, MessageKind::kRequestError, kLater},
    {0x03, MessageKind::kSubscribe, kFirst},
    {0x04, MessageKind::kSubscribeOk, kLater},
    {0x1d, MessageKind::kPublish, kFirst},
    {0x0b, MessageKind::kPublishDone, kLater},
    {0x02, MessageKind::kRequestUpdate, kLater},
    {0x16, MessageKind::kFetch, kFirst},
    {0x18, MessageKind::kFetchOk, kLater},
    {0x0d, MessageKind::kTrackStatus, kFirst},
    {0x06, MessageKind::kPublishNamespace, kFirst},
    {0x50, MessageKind::kSubscribeNamespace, kFirst},
    {0x08, MessageKind::kNamespace, kLater},
    {0x0e, MessageKind::kNamespaceDone, kLater},
    {0x51, MessageKind::kSubscribeTracks, kFirst},
    {0x0f, MessageKind::kPublishBlocked, kLater},
};
static_assert(std::size(kRows) == kMessageKinds);

constexpr const Row& RowOf(MessageKind kind) { return kRows[static_cast<size_t>(kind)]; }
static_assert([] {
  for (size_t i = 0; i < std::size(kRows); ++i) {
    if (RowOf(static_cast<MessageKind>(i)).kind != static_cast<MessageKind>(i)) {
      return false;
    }
  }
  return true;
}());

constexpr size_t kBodyBytesMax = 65535;
constexpr size_t kLengthBytes = 2;

constexpr uint64_t kPaddingStreamType = 0x132b3e28;

}  // namespace

Result<Bytes> Draft18Codec::Encode(const Message& message) const {
  ByteWriter body;
  std::visit([&body](const auto& any) { draft18::WriteBody(body, any); }, message);
  const Bytes content = body.Take();
  if (content.size() > kBodyBytesMax) {
    return Error(ErrorCode::kTooLarge, "A message has at most 65,535 bytes; this one has " +
                                           std::to_string(content.size()) + ".");
  }
  ByteWriter writer;
  writer.Vi64(RowOf(KindOf(message)).type);
  writer.U16Be(static_cast<uint16_t>(content.size()));
  writer.Share(content);
  return writer.Take();
}

Result<void> Draft18Codec::CheckParameters(const Message& message,
                                           const MessagePlace& place) const {
  return draft18::CheckParameters(message, place);
}

std::optional<size_t> Draft18Codec::MessageBytes(std::string_view begun) const {
  if (begun.empty()) {
    return std::nullopt;
  }
  const size_t body_at = Vi64SizeFrom(AsBytes(begun).front()) + kLengthBytes;
  if (begun.size() < body_at) {
    return std::nullopt;
  }
  const auto byte = [&](size_t at) { return static_cast<size_t>(static_cast<uint8_t>(begun[at])); };
  return body_at + (byte(body_at - 2) << 8 | byte(body_at - 1));
}

Decoded<Message> Draft18Codec::Decode(std::string_view message, const MessagePlace& place) const {
  KVCAST_CHECK(MessageBytes(message) == message.size());
  ByteReader reader(AsBytes(message));
  KVCAST_TRY(const uint64_t type, reader.Vi64());
  KVCAST_TRY_VOID(reader.Skip(kLengthBytes));
  const Row* row = std::ranges::find(kRows, type, &Row::type);
  if (row == std::end(kRows)) {
    return Fault::Violation("Message type " + std::to_string(type) + " is unknown.");
  }
  const Stream stream = place.control ? kControl : place.request ? kLater : kFirst;
  if ((row->streams & stream) == 0) {
    return Fault::Violation(std::string(NameOf(row->kind)) + " may not stand here on its stream.");
  }
  KVCAST_TRY(Message read, draft18::ReadBody(reader, row->kind, place));
  if (!reader.done()) {
    return Fault::Violation("A message is longer than its fields.");
  }
  return read;
}

Decoded<std::optional<StreamOpening>> Draft18Codec::DecodeOpening(std::string_view begun) const {
  const std::optional<StreamOpening> untold;
  if (begun.empty() || begun.size() < Vi64SizeFrom(AsBytes(begun).front())) {
    return untold;
  }
  ByteReader reader(AsBytes(begun));
  KVCAST_TRY(const uint64_t type, reader.Vi64());
  if (type == RowOf(MessageKind::kSetup).type) {
    return std::optional<StreamOpening>(ControlOpening{});
  }
  if (type == kPaddingStreamType) {
    return std::optional<StreamOpening>(PaddingOpening{});
  }
  if (type == draft18::kFetchHeaderType) {
    const Result<uint64_t> request_id = reader.Vi64();
    return request_id.ok() ? std::optional<StreamOpening>(FetchOpening{*request_id}) : untold;
  }
  if (draft18::IsSubgroupType(type)) {
    KVCAST_TRY(const std::optional<SubgroupHeader> header, draft18::ReadHeader(type, reader));
    return header ? std::optional<StreamOpening>(*header) : untold;
  }
  return Fault::Violation("A stream begins with the unknown type " + std::to_string(type) + ".");
}

std::unique_ptr<SubgroupWriter> Draft18Codec::WriteSubgroup(const SubgroupHeader& header) const {
  return std::make_unique<draft18::SubgroupWriter>(header);
}

std::unique_ptr<SubgroupReader> Draft18Codec::ReadSubgroup(const SubgroupHeader& header,
                                                           const Limits& limits) const {
  return std::make_unique<draft18::SubgroupReader>(header, limits);
}

std::unique_ptr<FetchWriter> Draft18Codec::WriteFetch(uint64_t request_id, GroupOrder order) const {
  return std::make_unique<draft18::FetchWriter>(request_id, order);
}

std::unique_ptr<FetchReader> Draft18Codec::ReadFetch(GroupOrder order, const Limits& limits) const {
  return std::make_unique<draft18::FetchReader>(order, limits);
}

Bytes Draft18Codec::EncodeDatagram(const ObjectDatagram& datagram) const {
  return draft18::WriteDatagram(datagram);
}

Decoded<std::optional<ObjectDatagram>> Draft18Codec::DecodeDatagram(
    std::span<const std::byte> datagram) const {
  return draft18::ReadDatagram(datagram);
}

TrackTraits Draft18Codec::TraitsOf(const Properties& track) const {
  return draft18::TraitsOf(track);
}

std::unique_ptr<Shape> Draft18Codec::MakeShape(SessionState& state, SessionStreams& streams) const {
  (void)state, (void)streams;
  return nullptr;
}

}  // namespace kvcast::moqt
