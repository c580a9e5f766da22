#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include "kvcast/base/result.h"
#include "kvcast/base/time.h"
#include "kvcast/moqt/parameters.h"
#include "kvcast/moqt/session_state.h"
#include "kvcast/object/object.h"

namespace kvcast::moqt {

// The publisher's half of a subscription: the streams and datagrams on which its objects go out.
//
// Two timeouts may limit how long that takes, each the smaller one of the track's and the
// subscriber's. An object of which nothing was sent in time takes its stream with it, a datagram is
// dropped. A subgroup that was ended and has not arrived to its end in time is reset, for as long
// as the subscription is open.
class TrackSender {
 public:
  TrackSender(RequestId request, SessionState& state) : request_(request), state_(&state) {}

  // Objects may be sent from now on. `parameters` are those that the subscriber or we began with.
  void Begin(uint64_t alias, const TrackTraits& traits, const Parameters& parameters);
  // What the subscriber changes later. Streams that are open stand so after CatchUp(), which is due
  // before actions are taken out, unless that was too often; deadlines at once, by the same
  // measure.
  void Update(const Parameters& parameters);
  // Moves each stream that has another place by now.
  void CatchUp();

  // Opens a stream; the header's alias is filled in. Not found: the subscription is not open.
  // Invalid: the subscriber does not want objects now.
  Result<StreamId> OpenSubgroup(SubgroupHeader header);
  // `since` is when the object's first byte came to us. Invalid: the object may not be next, see
  // SubgroupWriter. Not found: the stream is over, perhaps because this took too long.
  Result<void> Send(StreamId subgroup, const Object& object, Instant since);
  // An object on its own, which may get lost. Invalid: the subscriber does not want objects now.
  Result<void> SendAlone(const Object& object, bool end_of_group, Instant since);
  // All objects of the subgroup were sent.
  Result<void> End(StreamId subgroup);
  // They were not, and will not be.
  Result<void> Reset(StreamId subgroup, ResetCode code);

  // Bytes of a stream were sent for the first time.
  void OnSent(StreamId subgroup, uint64_t bytes);
  // All of a stream has arrived.
  void OnDelivered(StreamId subgroup);
  // So many datagrams were sent or dropped.
  void OnDatagramsGone(uint64_t count);
  // Some timeout has passed.
  void OnTimeout();
  // The subscriber wants no more of it. False if all of it was sent.
  bool OnStopped(StreamId subgroup);
  // Nothing more is to be sent: streams that are still open are reset, those that ended go on.
  void Close(ResetCode code);
  // The subscription is over: whatever was not sent is not sent any more.
  void Stop(ResetCode code);
  // Every stream that was opened has been sent to its end, or was reset, and no datagram waits.
  bool sent_all() const { return unsent_streams_ == 0 && waiting_datagrams_ == 0; }

  // Whether the subscriber wants objects now, or did when there were some.
  bool forward() const { return forward_; }
  // Streams of which something was sent. A connection need not open others: see left_out().
  uint64_t stream_count() const { return stream_count_; }
  // Whether any stream was given up before that, so that the subscriber never hears of it.
  bool left_out() const { return left_out_; }
  std::optional<Location> largest() const { return largest_; }

 private:
  // An object of which nothing was sent yet: where it begins in the stream, and since when we have
  // it.
  struct Unsent {
    uint64_t begin;
    Instant since;
  };
  struct Stream {
    SubgroupHeader header;
    std::unique_ptr<SubgroupWriter> writer;
    std::pair<uint8_t, GroupOrder> place;  // By which the connection knows it, of the subscriber's.
    uint64_t written = 0;
    uint64_t sent = 0;
    std::deque<Unsent> unsent;        // Only where there is a timeout for it.
    std::optional<Instant> ended;     // When all was written.
    bool sent_all = false;            // All of that was sent.
    std::optional<Instant> deadline;  // As it stands in deadlines_.
  };
  using Streams = std::map<StreamId, Stream>;

  SendOrder OrderOf(uint8_t priority, uint64_t group, uint64_t subgroup) const;
  SendOrder OrderOf(const SubgroupHeader& header) const;
  Result<void> MaySend() const;
  void Note(Location location);
  void Write(StreamId id, Stream& stream, Bytes bytes);
  uint64_t subgroup_timeout_ms() const;
  void OnSentAll(Streams::iterator stream);
  void SetDeadline(StreamId id, Stream& stream);
  void SetDeadlines();
  void Forget(Streams::iterator stream);
  void GiveUp(Streams::iterator stream, ResetCode code);
  void ResetLate(Streams::iterator stream);
  void SetTimer();
  Streams::iterator FindOpen(StreamId subgroup);

  RequestId request_;
  SessionState* state_;
  bool open_ = false;
  bool forward_ = true;
  uint64_t alias_ = 0;
  TrackTraits traits_;
  uint8_t subscriber_priority_ = kDefaultPriority;
  GroupOrder order_ = GroupOrder::kAscending;
  uint64_t object_timeout_ms_ = 0;  // The subscriber's; the track's own are in its traits.
  uint64_t subgroup_timeout_ms_ = 0;
  std::optional<Location> largest_;
  uint64_t stream_count_ = 0;
  bool left_out_ = false;
  size_t unsent_streams_ = 0;       // Of those below, the ones of which not all was sent.
  uint64_t waiting_datagrams_ = 0;  // Which the connection has, and has not told us of since.
  Streams streams_;  // Also those that ended, until all of them was sent, or has to arrive in time.
  std::set<std::pair<Instant, StreamId>> deadlines_;
  bool retimed_ = false;  // Those are by timeouts that hold no longer.
};

}  // namespace kvcast::moqt
