#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>

#include "kvcast/base/time.h"
#include "kvcast/moqt/data_stream.h"
#include "kvcast/moqt/messages.h"
#include "kvcast/moqt/prior_gaps.h"
#include "kvcast/moqt/setup.h"
#include "kvcast/moqt/transport.h"
#include "kvcast/object/object.h"

// What a session tells whoever uses it: a relay or a client.
namespace kvcast::moqt {

// Names a request within its session; even ones are the client's.
using RequestId = uint64_t;

struct SetupDone {
  Setup peer;
};

// Requests of the peer. Each waits for an answer: an acceptance, or RefuseRequest().
struct PublishReceived {
  RequestId request;
  TrackName track;
  uint64_t alias;
  Parameters parameters;
  Properties properties;
};
struct SubscribeReceived {
  RequestId request;
  TrackName track;
  Parameters parameters;
};
struct FetchReceived {
  RequestId request;
  TrackName track;
  LocationRange range;  // For a joining fetch, up to where the subscription began.
  Parameters parameters;
  std::optional<RequestId> joined;  // The subscription that it joins.
};
struct TrackStatusReceived {
  RequestId request;
  TrackName track;
  Parameters parameters;
};
// The peer wants PUBLISH for every track below the prefix, there now or later.
struct SubscribeTracksReceived {
  RequestId request;
  TrackNamespace prefix;
  Parameters parameters;
};
// The peer has tracks below a namespace, until it cancels the request.
struct PublishNamespaceReceived {
  RequestId request;
  TrackNamespace space;
  Parameters parameters;
};
// The peer wants to hear of every namespace below the prefix, there now or later.
struct SubscribeNamespaceReceived {
  RequestId request;
  TrackNamespace prefix;
  Parameters parameters;
};
// A request of the peer, or a subscription it takes part in, is to change. It waits for
// AcceptUpdate() or RefuseUpdate(); several of one request are answered in the order they came. A
// subscription's priority and forwarding change with the acceptance, a prefix is the new one from
// then on.
struct UpdateReceived {
  RequestId request;
  Parameters parameters;
};

// Answers to requests of ours.
struct RequestAccepted {
  RequestId request;
  Parameters parameters;
  Properties properties;  // Of the track: for SUBSCRIBE and TRACK_STATUS.
};
struct FetchAccepted {
  RequestId request;
  FetchOk answer;
};
struct RequestRefused {
  RequestId request;
  RequestError error;
};

// Answers to updates of ours. A refusal ends the request: RequestCancelled follows, or, where the
// peer is the publisher of a subscription, its PublishDoneReceived.
struct UpdateAccepted {
  RequestId request;
  RequestId update;
  Parameters parameters;
};
struct UpdateRefused {
  RequestId request;
  RequestId update;
  RequestError error;
};

// Namespaces below a prefix of ours. All are withdrawn when the request is over.
struct NamespaceReceived {
  RequestId request;
  TrackNamespace space;
};
struct NamespaceWithdrawn {
  RequestId request;
  TrackNamespace space;
};

// A track below a prefix of ours that the peer has no stream left to publish on, nor will later: it
// can be subscribed to.
struct PublishBlockedReceived {
  RequestId request;
  TrackName track;
};

// A request of either side is over before its time: the peer cancelled it, its track is malformed,
// an update of it was refused, or the track comes by another request. What has arrived can still be
// taken; unless nobody did for too long, and it was in the way of others (Limits::room_patience).
struct RequestCancelled {
  RequestId request;
  uint64_t code;  // A ResetCode.
  std::string reason;
};
// The publisher sends no more. What is under way still comes, and TrackEnd after it. Where the
// publisher does not know its number of streams, or one was reset before its header came, that
// takes Limits::end_patience.
struct PublishDoneReceived {
  RequestId request;
  PublishDone done;
};
// Something can be taken, after nothing could.
struct ObjectsReady {
  RequestId request;
};
// What waited to be sent has fallen to the low mark, after it had passed the high one.
struct SendRoom {
  RequestId request;
};
// The peer wants no more of one subgroup, of which not all was sent, or it was not delivered in
// time: its stream is reset, and no other should be opened for it. The subscription goes on.
struct SubgroupStopped {
  RequestId request;
  StreamId subgroup;
  bool timed_out = false;
};

// The peer is about to leave: the whole session, or one request where that is named.
struct GoAwayReceived {
  std::optional<RequestId> request;
  GoAway message;
};
// More has come than there is room for, of the session's peer or of all (ReceiveRoom): whoever has
// most is to give up some.
struct RoomWanted {};
// The last event there is.
struct SessionClosed {
  uint64_t code;  // A SessionCode, or whatever the connection died of.
  std::string reason;
  bool by_peer;
};

using Event =
    std::variant<SetupDone, PublishReceived, SubscribeReceived, FetchReceived, TrackStatusReceived,
                 SubscribeTracksReceived, PublishNamespaceReceived, SubscribeNamespaceReceived,
                 UpdateReceived, RequestAccepted, FetchAccepted, UpdateAccepted, UpdateRefused,
                 NamespaceReceived, NamespaceWithdrawn, RequestRefused, PublishBlockedReceived,
                 RequestCancelled, PublishDoneReceived, ObjectsReady, SendRoom, SubgroupStopped,
                 GoAwayReceived, RoomWanted, SessionClosed>;

// What arrives on a subscription or a fetch, in the order of its streams.
struct ReceivedObject {
  static constexpr StreamId kNoStream = ~StreamId{0};  // It came as a datagram.

  Object object;
  StreamId stream = 0;
  bool first_of_subgroup = false;  // The first object ever published in its subgroup.
  // Its stream has the group's last object, if it ends well; a datagram is the last itself.
  bool ends_group = false;
  // Where it was subscribed to:
  Instant since{};   // When its first byte came,
  PriorGaps gaps{};  // and what it says of what stands before it.
};
// A subgroup's stream is over. If it ended well, and has the group's end, no object of the group
// stands beyond the last one received on it.
struct SubgroupEnd {
  StreamId stream = 0;
  uint64_t group = 0;
  std::optional<uint64_t> subgroup;  // Absent if it was to be its first object's, and none came.
  bool complete = false;             // By FIN; otherwise more objects may exist.
  bool end_of_group = false;
};
// A fetch's stream is over.
struct FetchEnd {
  bool complete = false;
  uint64_t code = 0;  // A ResetCode, where it is not complete.
};
// Every stream that the publisher opened has been received; or, where it is not complete, all that
// came in time.
struct TrackEnd {
  PublishDone done;
  bool complete = true;
};

using Received = std::variant<ReceivedObject, SubgroupEnd, RangeEnd, FetchEnd, TrackEnd>;

}  // namespace kvcast::moqt
