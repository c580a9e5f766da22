#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "kvcast/moqt/codec.h"
#include "kvcast/moqt/credit_book.h"
#include "kvcast/moqt/limits.h"
#include "kvcast/moqt/outbox.h"
#include "kvcast/moqt/request_table.h"
#include "kvcast/moqt/send_ledger.h"

namespace kvcast::moqt {

// What the parts of one session share: its streams and requests hold a reference to it. It lives in
// the session and neither moves nor outlives it.
struct SessionState {
  SessionState(Role our_role, const Codec& our_codec, const Limits& our_limits)
      : role(our_role),
        codec(our_codec),
        limits(our_limits),
        credit(limits, outbox),
        ledger(limits, outbox),
        requests(our_role == Role::kClient ? 0 : 1) {}
  SessionState(const SessionState&) = delete;
  SessionState& operator=(const SessionState&) = delete;

  StreamId OpenBidi() { return Open(next_bidi++ * 4, {SendOrder::Tier::kRequest}); }
  StreamId OpenUni(const SendOrder& order) { return Open(next_uni++ * 4 + 2, order); }

  Role role;
  const Codec& codec;
  Limits limits;
  Outbox outbox;
  CreditBook credit;
  SendLedger ledger;
  RequestTable requests;

  std::vector<RequestId> ended;  // Requests that are over, until the session has cleaned up.

  uint64_t next_bidi = 0;
  uint64_t next_uni = 0;
  uint64_t next_alias = 0;

  bool setup_received = false;
  size_t early_bytes = 0;                 // Kept on streams that have to wait.
  bool going_away = false;                // The peer is.
  std::optional<RequestId> refused_from;  // We are: requests from here on are refused.

 private:
  StreamId Open(StreamId id, const SendOrder& order) {
    const StreamId stream = id + (role == Role::kServer ? 1 : 0);
    outbox.Do(OpenStream{stream, order});
    return stream;
  }
};

}  // namespace kvcast::moqt
