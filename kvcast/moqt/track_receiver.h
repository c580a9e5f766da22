#pragma once

#include <cstdint>
#include <optional>

#include "kvcast/moqt/receive_queue.h"
#include "kvcast/moqt/session_state.h"
#include "kvcast/moqt/track_rules.h"
#include "kvcast/object/object.h"

namespace kvcast::moqt {

// The subscriber's half of a subscription: what its streams have brought.
class TrackReceiver {
 public:
  TrackReceiver(RequestId request, SessionState& state)
      : request_(request), state_(&state), queue_(request, state.credit, state.outbox) {}

  // Streams under the alias are ours from now on. DUPLICATE_TRACK_ALIAS if it is another's.
  Decoded<void> Begin(uint64_t alias, const TrackTraits& traits);
  const TrackTraits& traits() const { return traits_; }

  void OnStreamOpened() { ++streams_opened_; }
  // A track's fault: it contradicts what came before.
  Decoded<void> OnObject(ReceivedObject received);
  // An object that came alone. Dropped if too many wait.
  Decoded<void> OnDatagram(ObjectDatagram datagram);
  // A stream ended well; OnStreamEnded() follows. `last` is its last object, if it had one.
  Decoded<void> CheckEnd(const SubgroupEnd& end, std::optional<uint64_t> last);
  void OnStreamEnded(const SubgroupEnd& end);
  void OnDone(const PublishDone& done);

  // The publisher is done and all its streams have come and gone.
  bool complete() const;
  bool done_received() const { return done_.has_value(); }
  // The subscription is over: late streams of its alias are dropped.
  void Stop();

  ReceiveQueue& queue() { return queue_; }

 private:
  void TellIfComplete(StreamId stream);

  RequestId request_;
  SessionState* state_;
  ReceiveQueue queue_;
  std::optional<uint64_t> alias_;
  TrackTraits traits_;
  TrackRules rules_;
  uint64_t streams_opened_ = 0;
  uint64_t streams_ended_ = 0;
  std::optional<PublishDone> done_;
};

}  // namespace kvcast::moqt
