#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kvcast/base/bytes.h"
#include "kvcast/base/result.h"
#include "kvcast/moqt/data_stream.h"
#include "kvcast/moqt/fault.h"
#include "kvcast/moqt/limits.h"
#include "kvcast/moqt/messages.h"
#include "kvcast/moqt/track_traits.h"

namespace kvcast::moqt {

class SessionStreams;
class Shape;
struct SessionState;

// Where a message stands, which decides whether it may and how it is read.
struct MessagePlace {
  Role sender = Role::kClient;
  bool control = false;                // On a control stream; otherwise on a request's.
  std::optional<MessageKind> request;  // What that stream began with; absent for this very message.
  bool answers_update = false;         // An OK here is for an update, not for the request.
};

// How one draft of MoQT writes things down: integers, messages, parameters, streams, datagrams, and
// which streams there are.
//
// Sessions deal in what is meant and hold a codec for the rest, so another draft is another codec
// beside this one. A fault says what the draft demands where bytes break its rules; whether a
// message makes sense now is the session's question.
class Codec {
 public:
  // What the connection's handshake calls the draft.
  virtual std::string_view alpn() const = 0;

  // The whole message with its frame. Too large: it does not fit one.
  virtual Result<Bytes> Encode(const Message& message) const = 0;
  // Whether all parameters of a message may stand there. Invalid: one may not.
  virtual Result<void> CheckParameters(const Message& message, const MessagePlace& place) const = 0;
  // The same, before it is encoded. Invalid, or too large.
  Result<Bytes> EncodeAt(const Message& message, const MessagePlace& place) const {
    KVCAST_TRY_VOID(CheckParameters(message, place));
    return Encode(message);
  }
  // How many bytes the message has that `begun` begins, frame included; absent if `begun` is too
  // short to tell.
  virtual std::optional<size_t> MessageBytes(std::string_view begun) const = 0;
  virtual Decoded<Message> Decode(std::string_view message, const MessagePlace& place) const = 0;

  // How a one-way stream begins; absent if `begun` is too short to tell. A stream's opening ends
  // where the first `begun` does for which this answers.
  virtual Decoded<std::optional<StreamOpening>> DecodeOpening(std::string_view begun) const = 0;
  virtual std::unique_ptr<SubgroupWriter> WriteSubgroup(const SubgroupHeader& header) const = 0;
  virtual std::unique_ptr<SubgroupReader> ReadSubgroup(const SubgroupHeader& header,
                                                       const Limits& limits) const = 0;
  virtual std::unique_ptr<FetchWriter> WriteFetch(uint64_t request_id, GroupOrder order) const = 0;
  virtual std::unique_ptr<FetchReader> ReadFetch(GroupOrder order, const Limits& limits) const = 0;

  // REQUIRES: a status has neither payload nor properties.
  virtual Bytes EncodeDatagram(const ObjectDatagram& datagram) const = 0;
  // Absent: it was padding.
  virtual Decoded<std::optional<ObjectDatagram>> DecodeDatagram(
      std::span<const std::byte> datagram) const = 0;

  virtual TrackTraits TraitsOf(const Properties& track) const = 0;

  // What lays a session's streams out as the draft has them, for as long as the session lives. Null
  // if they are as the session thinks of them. Otherwise messages are written and read as they
  // stand on the session's streams: what names the request that one belongs to is the shape's to
  // add.
  virtual std::unique_ptr<Shape> MakeShape(SessionState& state, SessionStreams& streams) const = 0;

 protected:
  ~Codec() = default;  // Nobody owns one: they are constants.
};

inline constexpr std::string_view kAlpnDraft18 = "moqt-18";

// Of every draft that we speak, the best first: what a handshake may agree on.
std::vector<std::string> SpokenAlpns();
// The codec that a handshake agreed on, or null if we do not know it. It lives for ever.
const Codec* CodecFor(std::string_view alpn);
// The one that we offer first.
const Codec& DefaultCodec();

}  // namespace kvcast::moqt
