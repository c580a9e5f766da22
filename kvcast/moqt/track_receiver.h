#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>

#include "kvcast/moqt/parameters.h"
#include "kvcast/moqt/receive_queue.h"
#include "kvcast/moqt/session_state.h"
#include "kvcast/moqt/track_rules.h"
#include "kvcast/object/object.h"

namespace kvcast::moqt {

// The subscriber's half of a subscription: what its streams have brought.
class TrackReceiver {
 public:
  TrackReceiver(RequestId request, SessionState& state)
      : request_(request), state_(&state), queue_(request, state.credit, state.outbox, state.now) {}
  ~TrackReceiver() { state_->rules_bytes -= rules_bytes_; }
  TrackReceiver(const TrackReceiver&) = delete;
  TrackReceiver& operator=(const TrackReceiver&) = delete;

  // Streams under the alias are ours from now on. DUPLICATE_TRACK_ALIAS if it is another's.
  Decoded<void> Begin(uint64_t alias, const TrackTraits& traits);
  const TrackTraits& traits() const { return traits_; }

  void OnStreamOpened(uint64_t group);
  // A track's fault: it contradicts what came before.
  Decoded<void> OnObject(ReceivedObject received);
  // An object that came alone. Dropped if too many wait.
  Decoded<void> OnDatagram(ObjectDatagram datagram);
  // A stream ended well; OnStreamEnded() follows. `last` is its last object, if it had one.
  Decoded<void> CheckEnd(const SubgroupEnd& end, std::optional<uint64_t> last);
  void OnStreamEnded(const SubgroupEnd& end);
  // What we have asked for: the publisher may take as long as its timeouts say.
  void Want(const Parameters& parameters);
  void OnDone(const PublishDone& done);
  // The publisher is done, and has been silent for a while. Streams that have not come by now do
  // not count any more; unless some are open, or it may be us who keeps them from coming.
  void OnTimeout();

  // The publisher is done and all its streams have come and gone, or are not waited for.
  bool ended() const;
  bool done_received() const { return done_.has_value(); }
  // Whether a stream of any of these groups has begun and not ended, both included.
  bool HasOpenStreams(uint64_t first_group, uint64_t last_group) const;
  // The subscription is over: late streams of its alias are dropped.
  void Stop();

  ReceiveQueue& queue() { return queue_; }

 private:
  void TellIfEnded(StreamId stream);
  Duration patience() const;
  void AwaitEnd(Instant until);
  // What the rules remember counts for the session, and some of it is forgotten if that is too
  // much.
  Decoded<void> Counted(Decoded<void> checked);

  RequestId request_;
  SessionState* state_;
  ReceiveQueue queue_;
  std::optional<uint64_t> alias_;
  TrackTraits traits_;
  TrackRules rules_;
  size_t rules_bytes_ = 0;  // As counted.
  uint64_t streams_opened_ = 0;
  uint64_t streams_ended_ = 0;
  std::map<uint64_t, size_t> open_groups_;  // How many streams each has that have not ended.
  uint64_t timeout_ms_ = 0;                 // The longest that we have asked for.
  std::optional<PublishDone> done_;
  Instant last_heard_;          // When a stream or a datagram last came, or a stream ended.
  uint64_t times_cleared_ = 0;  // By the credit book, when we began to wait.
  bool timed_out_ = false;
  bool end_told_ = false;
};

}  // namespace kvcast::moqt
