#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "kvcast/moqt/codes.h"
#include "kvcast/moqt/parameters.h"
#include "kvcast/moqt/setup.h"
#include "kvcast/object/location.h"
#include "kvcast/object/properties.h"
#include "kvcast/object/track_name.h"

// The messages of control and request streams, as what they mean. How they are written is a codec's
// business, see codec.h.
namespace kvcast::moqt {

inline constexpr size_t kReasonBytesMax = 1024;
inline constexpr size_t kSessionUriBytesMax = 8192;

struct GoAway {
  std::string uri;  // At most 8,192 bytes, and a server's alone.
  uint64_t timeout_ms = 0;
  std::optional<uint64_t> request_id;  // On the control stream of drafts that have it.
};

struct RequestOk {
  Parameters parameters;
  Properties properties;  // TRACK_STATUS_OK alone.
};

struct Redirect {
  std::string uri;
  TrackName track = *TrackName::Of({}, "");  // Both parts empty: the one that was asked for.
};

struct RequestError {
  RequestCode code = RequestCode::kInternalError;
  std::optional<uint64_t> retry_after_ms;  // Absent: do not try again. At most 2^64 - 2.
  std::string reason;                      // What is longer than 1,024 bytes is cut.
  std::optional<Redirect> redirect;        // If and only if the code is kRedirect.
};

struct Subscribe {
  uint64_t request_id = 0;
  TrackName track;
  Parameters parameters;
};

struct SubscribeOk {
  uint64_t alias = 0;
  Parameters parameters;
  Properties properties;
};

struct Publish {
  uint64_t request_id = 0;
  TrackName track;
  uint64_t alias = 0;
  Parameters parameters;
  Properties properties;
  // As read: the properties contradict themselves, which costs the track and not the session.
  bool malformed = false;
};

struct PublishDone {
  static constexpr uint64_t kStreamsUnknown = (uint64_t{1} << 62) - 1;

  DoneCode code = DoneCode::kInternalError;
  uint64_t streams = 0;
  std::string reason;
};

struct RequestUpdate {
  uint64_t request_id = 0;
  Parameters parameters;
};

struct Fetch {
  enum class Type : uint8_t { kStandalone = 1, kRelativeJoining = 2, kAbsoluteJoining = 3 };

  uint64_t request_id = 0;
  Type type = Type::kStandalone;
  TrackName track = *TrackName::Of({}, "");  // Standalone, as is the range.
  LocationRange range;                       // May be empty as read: an invalid range, no fault.
  uint64_t joined_request_id = 0;            // Joining, as is the start.
  uint64_t joining_start = 0;
  Parameters parameters;

  GroupOrder order() const { return parameters.group_order.value_or(GroupOrder::kAscending); }
};

struct FetchOk {
  bool end_of_track = false;
  Location last;  // Included; object kWholeGroup for all of its group.
  Parameters parameters;
  Properties properties;
};

struct TrackStatus {
  uint64_t request_id = 0;
  TrackName track;
  Parameters parameters;
};

struct PublishNamespace {
  uint64_t request_id = 0;
  TrackNamespace space;
  Parameters parameters;
};

struct SubscribeNamespace {
  uint64_t request_id = 0;
  TrackNamespace prefix;
  Parameters parameters;
};

// A namespace below the prefix that was subscribed to, without that prefix.
struct Namespace {
  TrackNamespace below;
};
struct NamespaceDone {
  TrackNamespace below;
};

struct SubscribeTracks {
  uint64_t request_id = 0;
  TrackNamespace prefix;
  Parameters parameters;
};

struct PublishBlocked {
  TrackName track;  // Its namespace begins after the prefix that was subscribed to.
};

using Message =
    std::variant<Setup, GoAway, RequestOk, RequestError, Subscribe, SubscribeOk, Publish,
                 PublishDone, RequestUpdate, Fetch, FetchOk, TrackStatus, PublishNamespace,
                 SubscribeNamespace, Namespace, NamespaceDone, SubscribeTracks, PublishBlocked>;

// In the order of Message's alternatives.
enum class MessageKind : uint8_t {
  kSetup,
  kGoAway,
  kRequestOk,
  kRequestError,
  kSubscribe,
  kSubscribeOk,
  kPublish,
  kPublishDone,
  kRequestUpdate,
  kFetch,
  kFetchOk,
  kTrackStatus,
  kPublishNamespace,
  kSubscribeNamespace,
  kNamespace,
  kNamespaceDone,
  kSubscribeTracks,
  kPublishBlocked,
};

inline constexpr size_t kMessageKinds = std::variant_size_v<Message>;

inline MessageKind KindOf(const Message& message) {
  return static_cast<MessageKind>(message.index());
}

// As the drafts spell them, such as "SUBSCRIBE_OK".
std::string_view NameOf(MessageKind kind);

}  // namespace kvcast::moqt
