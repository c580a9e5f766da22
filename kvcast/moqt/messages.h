#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "kvcast/base/bytes.h"
#include "kvcast/base/result.h"
#include "kvcast/moqt/codes.h"
#include "kvcast/moqt/fault.h"
#include "kvcast/moqt/parameters.h"
#include "kvcast/object/location.h"
#include "kvcast/object/properties.h"
#include "kvcast/object/track_name.h"

// The messages of control and request streams, as draft-18 writes them. Encode() gives the whole
// message with its frame, or kTooLarge; Decode() takes the frame's body and nothing may be left.
namespace kvcast::moqt {

// goaway := uri_length:vi64 uri timeout_ms:vi64 [request_id:vi64]
struct GoAway {
  std::string uri;
  uint64_t timeout_ms = 0;
  std::optional<uint64_t> request_id;  // On the control stream, and only there.

  Result<Bytes> Encode() const;
  static Decoded<GoAway> Decode(std::string_view body, bool on_control_stream);
};

// request_ok := parameters track_properties
struct RequestOk {
  Parameters parameters;
  Properties properties;  // TRACK_STATUS_OK alone.

  Result<Bytes> Encode() const;
  static Decoded<RequestOk> Decode(std::string_view body, ParameterScope scope);
};

// redirect := uri_length:vi64 uri track_name
struct Redirect {
  std::string uri;
  TrackName track = *TrackName::Of({}, "");  // Both parts empty: the one that was asked for.
};

// request_error := code:vi64 retry_interval:vi64 reason_length:vi64 reason [redirect]
struct RequestError {
  RequestCode code = RequestCode::kInternalError;
  std::optional<uint64_t> retry_after_ms;  // Absent: do not try again. At most 2^64 - 2.
  std::string reason;                      // What is longer than 1,024 bytes is cut.
  std::optional<Redirect> redirect;        // If and only if the code is kRedirect.

  Result<Bytes> Encode() const;
  static Decoded<RequestError> Decode(std::string_view body);
};

// subscribe := request_id:vi64 track_name parameters
struct Subscribe {
  uint64_t request_id = 0;
  TrackName track;
  Parameters parameters;

  Result<Bytes> Encode() const;
  static Decoded<Subscribe> Decode(std::string_view body);
};

// Written as SUBSCRIBE is; the type tells them apart.
struct TrackStatus {
  uint64_t request_id = 0;
  TrackName track;
  Parameters parameters;

  Result<Bytes> Encode() const;
  static Decoded<TrackStatus> Decode(std::string_view body);
};

// subscribe_tracks := request_id:vi64 namespace parameters
struct SubscribeTracks {
  uint64_t request_id = 0;
  TrackNamespace prefix;
  Parameters parameters;

  Result<Bytes> Encode() const;
  static Decoded<SubscribeTracks> Decode(std::string_view body);
};

// publish_blocked := track_name
struct PublishBlocked {
  TrackName track;  // Its namespace begins after the prefix that was subscribed to.

  Result<Bytes> Encode() const;
  static Decoded<PublishBlocked> Decode(std::string_view body);
};

// subscribe_ok := alias:vi64 parameters track_properties
struct SubscribeOk {
  uint64_t alias = 0;
  Parameters parameters;
  Properties properties;

  Result<Bytes> Encode() const;
  static Decoded<SubscribeOk> Decode(std::string_view body);
};

// request_update := request_id:vi64 parameters
struct RequestUpdate {
  uint64_t request_id = 0;
  Parameters parameters;

  Result<Bytes> Encode() const;
  static Decoded<RequestUpdate> Decode(std::string_view body, ParameterScope scope);
};

// publish := request_id:vi64 track_name alias:vi64 parameters track_properties
struct Publish {
  uint64_t request_id = 0;
  TrackName track;
  uint64_t alias = 0;
  Parameters parameters;
  Properties properties;

  Result<Bytes> Encode() const;
  static Decoded<Publish> Decode(std::string_view body);
};

// publish_done := code:vi64 streams:vi64 reason_length:vi64 reason
struct PublishDone {
  static constexpr uint64_t kStreamsUnknown = (uint64_t{1} << 62) - 1;

  DoneCode code = DoneCode::kInternalError;
  uint64_t streams = 0;
  std::string reason;

  Result<Bytes> Encode() const;
  static Decoded<PublishDone> Decode(std::string_view body);
};

// fetch := request_id:vi64 type:vi64 (track_name start:location end:location |
//                                     joined_request_id:vi64 joining_start:vi64) parameters
// The end is one past the last object, and 0 for a whole group.
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

  Result<Bytes> Encode() const;
  static Decoded<Fetch> Decode(std::string_view body);
};

// fetch_ok := end_of_track:u8 end:location parameters track_properties
struct FetchOk {
  bool end_of_track = false;
  Location last;  // Included; object kWholeGroup for all of its group.
  Parameters parameters;
  Properties properties;

  Result<Bytes> Encode() const;
  static Decoded<FetchOk> Decode(std::string_view body);
};

}  // namespace kvcast::moqt
