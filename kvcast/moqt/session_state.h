#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "kvcast/moqt/codec.h"
#include "kvcast/moqt/credit_book.h"
#include "kvcast/moqt/limits.h"
#include "kvcast/moqt/outbox.h"
#include "kvcast/moqt/received_bytes.h"
#include "kvcast/moqt/request_table.h"
#include "kvcast/moqt/send_ledger.h"
#include "kvcast/moqt/session_share.h"
#include "kvcast/moqt/timers.h"
#include "kvcast/moqt/waiting_streams.h"

namespace kvcast::moqt {

// What the parts of one session share: its streams and requests hold a reference to it. It lives in
// the session and neither moves nor outlives it.
struct SessionState {
  SessionState(Role our_role, const Codec& our_codec, const Limits& our_limits,
               const SessionShare& our_share)
      : role(our_role),
        codec(our_codec),
        limits(our_limits),
        credit(limits, outbox, received),
        ledger(limits, outbox),
        requests(our_role == Role::kClient ? 0 : 1, our_share),
        next_alias(our_share.index),
        alias_step(our_share.count) {}
  SessionState(const SessionState&) = delete;
  SessionState& operator=(const SessionState&) = delete;

  // Whether the peer lets us open one more two-way stream now.
  bool may_open_bidi() const { return next_bidi < bidi_allowed; }
  // Whether the peer lets us open streams, and reads what we send, so that one more request of ours
  // costs no more than the limits say. Half of them is for answers.
  bool has_room_to_ask() const {
    const uint64_t ahead = next_bidi > bidi_allowed ? next_bidi - bidi_allowed : 0;
    return ahead < limits.requests_ahead &&
           ledger.message_bytes() <= limits.session_answer_bytes / 2;
  }
  StreamId OpenBidi() { return Open(next_bidi++ * 4, {SendOrder::Tier::kRequest}); }
  StreamId OpenUni(const SendOrder& order) { return Open(next_uni++ * 4 + 2, order); }

  void TakeAlias() { next_alias += alias_step; }

  // A message that begins a request of ours. Invalid: a parameter may not stand in it. Too large.
  Result<Bytes> EncodeRequest(const Message& message) const {
    return codec.EncodeAt(message, {role, false, std::nullopt, false});
  }

  Role role;
  const Codec& codec;
  Limits limits;
  Outbox outbox;
  ReceivedBytes received;
  CreditBook credit;
  SendLedger ledger;
  Timers timers;
  WaitingStreams waiting;
  Instant now;               // When what is being done is done.
  size_t request_bytes = 0;  // Of what requests and updates of the peer's make us keep.
  RequestTable requests;     // After what requests let go of when they end.

  std::vector<RequestId> ended;  // Requests that are over, until the session has cleaned up.

  // Tracks of ours whose streams do not stand yet as their subscribers have said by now, and how
  // many streams may be changed for such a reason. It grows with every input: a peer cannot have us
  // change thousands with each small message.
  static constexpr int64_t kChangesMax = 16 * 1024;
  static constexpr int64_t kChangesPerInput = 16;
  std::set<RequestId> behind;
  int64_t changes_left = kChangesMax;

  // Fetches that join a subscription which has not come yet: streams come in any order.
  std::multimap<RequestId, RequestId> early_joins;

  // Streams of ours that were ended and sent, and may be too late until the peer has all of them.
  std::map<StreamId, RequestId> undelivered;

  uint64_t bidi_allowed = std::numeric_limits<uint64_t>::max();
  uint64_t next_bidi = 0;
  uint64_t next_uni = 0;
  uint64_t next_alias;
  uint64_t alias_step;

  bool setup_received = false;
  size_t early_bytes = 0;           // Kept on streams that have to wait.
  size_t partial_bytes = 0;         // Of messages and objects that are not whole.
  size_t rules_bytes = 0;           // Of what is remembered of tracks.
  size_t namespace_bytes = 0;       // Of namespaces that the peer has told us of,
  size_t told_namespace_bytes = 0;  // and that we have told it of.
  std::optional<GoAway> goaway;     // The peer's, once it is leaving.
  bool said_goodbye = false;        // We are: what is asked from now on is refused.

 private:
  StreamId Open(StreamId id, const SendOrder& order) {
    const StreamId stream = id + (role == Role::kServer ? 1 : 0);
    outbox.Do(OpenStream{stream, order});
    return stream;
  }
};

}  // namespace kvcast::moqt
