#pragma once

#include <cstddef>
#include <utility>

#include "kvcast/moqt/session.h"
#include "kvcast/relay/fetch_cursor.h"
#include "kvcast/relay/relay_metrics.h"

namespace kvcast::relay {

// One FETCH being answered, at the pace of who asked.
class FetchAnswer {
 public:
  FetchAnswer(moqt::Session& session, moqt::RequestId request, FetchCursor cursor)
      : session_(&session), request_(request), cursor_(std::move(cursor)) {}

  enum class State : uint8_t {
    kAhead,    // Enough of it waits: the session says when there is room.
    kCrowded,  // Enough waits for the peer as a whole.
    kDone,     // All was handed over, or nobody wants it.
  };
  // Hands over what there is, until so many bytes wait for the peer.
  State Continue(RamTier& tier, size_t peer_bytes_max, RelayMetrics& metrics);

  const TrackName& track() const { return cursor_.track(); }
  void Reset(moqt::ResetCode code) { (void)session_->ResetFetch(request_, code).ok(); }

 private:
  moqt::Session* session_;
  moqt::RequestId request_;
  FetchCursor cursor_;
};

}  // namespace kvcast::relay
