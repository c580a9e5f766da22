#pragma once

#include <cstddef>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "kvcast/moqt/session.h"
#include "kvcast/relay/audience.h"
#include "kvcast/relay/fetch_cursor.h"
#include "kvcast/relay/miss_log.h"
#include "kvcast/relay/relay_metrics.h"

namespace kvcast::relay {

// One FETCH being answered, at the pace of who asked and of the tiers that have it.
class FetchAnswer {
 public:
  // `pin`: who holds what it is about to send.
  FetchAnswer(moqt::Session& session, moqt::RequestId request, FetchCursor cursor, PinOwner pin,
              Instant begun)
      : session_(&session),
        request_(request),
        cursor_(std::move(cursor)),
        pin_(pin),
        begun_(begun) {}

  enum class State : uint8_t {
    kAhead,    // Enough of it waits: the session says when there is room.
    kCrowded,  // Enough waits for the peer as a whole.
    kReading,  // It waits for a tier, or for somebody upstream.
    kDone,     // All was handed over, or nobody wants it.
  };
  // Hands over what there is, until so many bytes wait for the peer.
  State Continue(Store& store, Instant now, size_t peer_bytes_max, RelayMetrics& metrics);

  // What became of a read of its own.
  void OnRead(StoreTicket ticket, std::optional<Object> found, std::vector<TierTrial> trials) {
    (void)cursor_.OnRead(ticket, std::move(found), std::move(trials));
  }
  std::vector<StoreTicket> TakeAsked() { return cursor_.TakeAsked(); }
  std::vector<StoreTicket> Cancel(Store& store) { return cursor_.Cancel(store); }

  const TrackName& track() const { return cursor_.track(); }
  FetchCursor& cursor() { return cursor_; }
  PinOwner pin() const { return pin_; }
  Instant begun() const { return begun_; }
  // Others were asked for some of it, and did not give it.
  void NoteUpstreams(const std::vector<UpstreamTrial>& trials);
  void NoteSilent(PeerId peer) { silent_.insert(peer); }
  bool IsSilent(PeerId peer) const { return silent_.contains(peer); }
  // What it could not give, if that was anything.
  std::optional<Miss> MissOf(Instant now) const;
  void Reset(moqt::ResetCode code) { (void)session_->ResetFetch(request_, code).ok(); }

 private:
  moqt::Session* session_;
  moqt::RequestId request_;
  FetchCursor cursor_;
  PinOwner pin_;
  Instant begun_;
  uint64_t sent_objects_ = 0;
  std::optional<Location> unknown_;  // The end of the first range that was called so.
  std::vector<UpstreamTrial> upstreams_;
  std::set<PeerId> silent_;  // Were asked for some of it, and did not answer.
};

}  // namespace kvcast::relay
