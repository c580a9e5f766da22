#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kvcast/base/result.h"
#include "kvcast/base/time.h"
#include "kvcast/moqt/codec.h"
#include "kvcast/moqt/event.h"
#include "kvcast/moqt/limits.h"
#include "kvcast/moqt/request.h"
#include "kvcast/moqt/session_share.h"
#include "kvcast/moqt/session_state.h"
#include "kvcast/moqt/session_streams.h"
#include "kvcast/moqt/shape.h"
#include "kvcast/moqt/subgroup_header.h"
#include "kvcast/moqt/transport.h"
#include "kvcast/object/location.h"
#include "kvcast/object/object.h"
#include "kvcast/object/track_name.h"

namespace kvcast::moqt {

// One MoQT session on either end of a connection, in whichever draft its codec speaks.
//
// The connection feeds it (TransportUser) and takes actions out of it; its user gives it commands,
// takes events out of it, and takes what it received request by request, at its own pace: a
// request whose objects are not taken stops by itself, and no other does.
//
// A command may come too late, when the peer has just cancelled; that is an error to be ignored,
// and the event that says so is under way. Commands do nothing once the session is closed, nor
// where a parameter is given to a message that may not have it: that is invalid, and nothing sent.
class Session final : public TransportUser {
 public:
  // `setup` is what we say of ourselves. `codec` is the one that the handshake agreed on, see
  // CodecFor(). `share`: where others use the connection, too. REQUIRES: the setup fits a message.
  Session(Role role, const Setup& setup, const Limits& limits, Instant now,
          const Codec& codec = DefaultCodec(), const SessionShare& share = {});
  ~Session() override;

  // The connection's side.
  void OnStreamData(StreamId stream, std::span<const std::byte> bytes, bool fin) override;
  void OnStreamReset(StreamId stream, uint64_t code) override;
  void OnStopSending(StreamId stream, uint64_t code) override;
  void OnBytesSent(StreamId stream, uint64_t bytes) override;
  void OnDelivered(StreamId stream) override { streams_.OnDelivered(stream); }
  void OnDatagramsGone(uint64_t request, uint64_t count) override {
    streams_.OnDatagramsGone(request, count);
  }
  void OnDatagram(std::span<const std::byte> bytes) override { streams_.OnDatagram(bytes); }
  void OnStreamsAllowed(uint64_t bidi_total) override;
  void OnConnectionClosed(uint64_t code, std::string_view reason) override {
    streams_.OnConnectionClosed(code, reason);
  }
  std::optional<TransportAction> NextAction() override;

  // What time it is: inputs and commands that follow are dated so. Delivery timeouts and those of
  // GOAWAY are as exact as this is.
  void OnTime(Instant now) override { state_.now = std::max(state_.now, now); }
  bool MayOpenMore() const override { return !state_.credit.crowded(); }
  void OnStreamsUsedUp() override { streams_.OnNoRoom(); }
  // The same, and does what is due.
  void OnTimeout(Instant now);
  std::optional<Instant> deadline() const;

  // The user's side. Drain after every input and command.
  std::optional<Event> NextEvent() { return state_.outbox.NextEvent(); }
  bool has_event() const { return state_.outbox.has_event(); }
  // What has arrived for a subscription or a fetch, in order; absent if nothing has.
  std::optional<Received> Take(RequestId request);
  // Whether a stream of a track that comes, in any of these groups, has begun and not ended: more
  // of them may come, or be on its way.
  bool HasOpenSubgroups(RequestId request, uint64_t first_group, uint64_t last_group) const;

  // Publishing. Objects may be sent at once, unless FORWARD says otherwise. Too large: the peer
  // lets us open no more streams, and has asked for all tracks below a prefix: it is told, and the
  // track must not be published to it later, but it may subscribe.
  Result<RequestId> Publish(const TrackName& track, const Parameters& parameters,
                            const Properties& properties);
  Result<void> AcceptSubscribe(RequestId request, const Parameters& parameters,
                               const Properties& properties);
  // A subgroup on its own stream; the header's alias is filled in. Whether the subgroup ends its
  // group and begins with its first object must be known now.
  Result<StreamId> OpenSubgroup(RequestId request, const SubgroupHeader& header);
  // `since` is when the object's first byte came to us, which is now if nothing is said: a delivery
  // timeout counts from there.
  Result<void> SendObject(RequestId request, StreamId subgroup, const Object& object,
                          std::optional<Instant> since = std::nullopt);
  // An object on its own, which may get lost; for those that came so. `end_of_group`: no object of
  // its group stands beyond it.
  Result<void> SendDatagramObject(RequestId request, const Object& object, bool end_of_group,
                                  std::optional<Instant> since = std::nullopt);
  Result<void> EndSubgroup(RequestId request, StreamId subgroup);
  Result<void> ResetSubgroup(RequestId request, StreamId subgroup, ResetCode code);
  // Subgroups that are still open are reset. The peer hears of it once the others, and datagrams,
  // have been sent, and may cancel or change the subscription until then.
  // `lacks_some`: not all that belongs to the track has come to us, so nobody is to count on it.
  Result<void> EndTrack(RequestId request, DoneCode code, std::string reason,
                        bool lacks_some = false);
  // Whether the peer has yet to hear of a track's end: it can be published to it again after that.
  bool IsEnding(const TrackName& track) const;

  // Subscribing.
  Result<RequestId> Subscribe(const TrackName& track, const Parameters& parameters);
  Result<void> AcceptPublish(RequestId request, const Parameters& parameters);

  // What is below a namespace can be asked of us, until this is cancelled.
  Result<RequestId> PublishNamespace(const TrackNamespace& space, const Parameters& parameters);
  Result<void> AcceptPublishNamespace(RequestId request, const Parameters& parameters);

  // Every namespace below a prefix: the publisher answers, then tells of each, and when it is gone.
  // Invalid: a prefix subscribed to lies above or below.
  Result<RequestId> SubscribeNamespace(const TrackNamespace& prefix, const Parameters& parameters);
  Result<void> AcceptSubscribeNamespace(RequestId request, const Parameters& parameters);
  // Invalid: it does not lie below the prefix, or was not announced. When the prefix has changed,
  // all that lie below the new one are to be announced again.
  Result<void> AnnounceNamespace(RequestId request, const TrackNamespace& space);
  Result<void> WithdrawNamespace(RequestId request, const TrackNamespace& space);

  // Every track below a prefix: the publisher answers, then publishes each. It may say of one that
  // it cannot, and then does not. Invalid: a prefix subscribed to lies above or below.
  Result<RequestId> SubscribeTracks(const TrackNamespace& prefix, const Parameters& parameters);
  Result<void> AcceptSubscribeTracks(RequestId request, const Parameters& parameters);
  Result<void> SendPublishBlocked(RequestId request, const TrackName& track);

  // Fetching, and serving it.
  Result<RequestId> Fetch(const TrackName& track, const LocationRange& range,
                          const Parameters& parameters);
  // What came before a subscription of ours: from so many groups before its beginning, or from a
  // group on. REQUIRES: a joining type.
  Result<RequestId> FetchJoining(RequestId subscription, moqt::Fetch::Type type, uint64_t start,
                                 const Parameters& parameters);
  Result<void> AcceptFetch(RequestId request, const FetchOk& answer);
  Result<void> SendFetched(RequestId request, const Object& object);
  Result<void> SendFetched(RequestId request, const RangeEnd& end);
  Result<void> EndFetch(RequestId request);
  Result<void> ResetFetch(RequestId request, ResetCode code);

  Result<RequestId> AskTrackStatus(const TrackName& track, const Parameters& parameters);
  Result<void> AnswerTrackStatus(RequestId request, const Parameters& parameters,
                                 const Properties& properties);

  // Changes a request of ours, or a subscription that the peer asked us for; gives the id that the
  // answer will name. Invalid: it was not accepted yet, cannot be changed so, or too many changes
  // wait.
  Result<RequestId> Update(RequestId request, const Parameters& parameters);
  // For UpdateReceived. A refusal ends the request.
  Result<void> AcceptUpdate(RequestId request, const Parameters& parameters);
  Result<void> RefuseUpdate(RequestId request, const RequestError& error);

  // For any request of the peer's that waits for an answer. Invalid, too: a redirect where none may
  // be.
  Result<void> RefuseRequest(RequestId request, const RequestError& error);
  // For any request of either side: what was received and not taken is dropped.
  void Cancel(RequestId request, ResetCode code);

  // What waits for the connection of the request's objects, as memory: their bytes, and a little
  // for each and for each stream. A sender pauses when they reach Limits::send_queue_high_bytes,
  // and goes on upon SendRoom.
  size_t queued_bytes(RequestId request) const { return state_.ledger.queued_bytes(request); }
  // The same of all requests together.
  size_t queued_bytes() const { return state_.ledger.queued_bytes(); }
  // The requests of which anything waits; and a number of each that is another one whenever the
  // connection has taken some of it.
  std::vector<RequestId> QueuedRequests() const { return state_.ledger.QueuedRequests(); }
  uint64_t progress(RequestId request) const { return state_.ledger.progress(request); }
  // Bytes received and not taken yet, of all requests.
  size_t untaken_bytes() const { return state_.credit.untaken_bytes(); }
  // The session shares these rooms from now on, with the sessions that share them already; and what
  // takes room there. How often something was refused because there was none.
  void ShareRoom(const ReceiveRooms& rooms) { state_.received.Share(rooms); }
  size_t received_bytes() const { return state_.received.bytes(); }
  uint64_t refused_for_room() const { return state_.received.refused(); }
  // Gives up what holds most of that, until so much of it is gone or nothing is left: the peer
  // hears that it was too much.
  void GiveUpReceived(size_t bytes) { streams_.GiveUpReceived(bytes); }
  // What requests and updates of the peer's make us keep.
  size_t kept_bytes() const { return state_.request_bytes; }
  // What is remembered of tracks that come, to notice when one contradicts itself.
  size_t remembered_bytes() const { return state_.rules_bytes; }

  const Limits& limits() const { return state_.limits; }
  // What the peer has said if it is leaving: it is asked for nothing any more.
  const std::optional<GoAway>& goaway() const { return state_.goaway; }

  // Says that we are leaving: later requests of the peer's are refused, and when the time, if there
  // is one, is over, the session is closed. A client names no URI.
  Result<void> SendGoAway(std::string uri, uint64_t timeout_ms);
  // The same of one request, which is then reset.
  Result<void> SendGoAway(RequestId request, std::string uri, uint64_t timeout_ms);
  void Close(SessionCode code, const std::string& reason) { streams_.Close(code, reason); }
  bool closed() const { return streams_.closed(); }

 private:
  template <typename T>
  Result<T*> Find(RequestId request);
  Result<TrackSender*> FindSender(RequestId request);
  Result<void> MayAsk() const;
  Result<void> MayAsk(const TrackNamespace& space) const;
  Result<void> MayPublish(const TrackName& track);
  Result<RequestId> Opened(Result<RequestId> request);
  Result<void> Done(Result<void> result);

  void SendControl(const Message& message);

  SessionState state_;
  SessionStreams streams_;
  std::unique_ptr<Shape> shape_;  // Null: the draft's streams are the session's own.
  Instant setup_deadline_;
  std::optional<Instant> goaway_deadline_;
};

}  // namespace kvcast::moqt
