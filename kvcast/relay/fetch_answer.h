#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include "kvcast/moqt/session.h"
#include "kvcast/relay/fetch_cursor.h"
#include "kvcast/relay/relay_metrics.h"

namespace kvcast::relay {

// One FETCH being answered, at the pace of who asked and of the tiers that have it.
class FetchAnswer {
 public:
  // `pin`: who holds what it is about to send.
  FetchAnswer(moqt::Session& session, moqt::RequestId request, FetchCursor cursor, PinOwner pin)
      : session_(&session), request_(request), cursor_(std::move(cursor)), pin_(pin) {}

  enum class State : uint8_t {
    kAhead,    // Enough of it waits: the session says when there is room.
    kCrowded,  // Enough waits for the peer as a whole.
    kReading,  // It waits for a tier.
    kDone,     // All was handed over, or nobody wants it.
  };
  // Hands over what there is, until so many bytes wait for the peer.
  State Continue(Store& store, Instant now, size_t peer_bytes_max, RelayMetrics& metrics);

  // What became of a read of its own.
  void OnRead(StoreTicket ticket, std::optional<Object> found) {
    (void)cursor_.OnRead(ticket, std::move(found));
  }
  std::vector<StoreTicket> TakeAsked() { return cursor_.TakeAsked(); }
  std::vector<StoreTicket> Cancel(Store& store) { return cursor_.Cancel(store); }

  const TrackName& track() const { return cursor_.track(); }
  PinOwner pin() const { return pin_; }
  void Reset(moqt::ResetCode code) { (void)session_->ResetFetch(request_, code).ok(); }

 private:
  moqt::Session* session_;
  moqt::RequestId request_;
  FetchCursor cursor_;
  PinOwner pin_;
};

}  // namespace kvcast::relay
