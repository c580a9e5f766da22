#pragma once

#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "kvcast/base/time.h"
#include "kvcast/moqt/session.h"
#include "kvcast/object/track_name.h"
#include "kvcast/relay/audience.h"
#include "kvcast/relay/limits.h"
#include "kvcast/relay/upstream_status.h"

namespace kvcast::relay {

// Tracks of which others are asked how they stand (TRACK_STATUS), once for all who want to know.
class UpstreamStatuses {
 public:
  using SessionOf = std::function<moqt::Session*(PeerId)>;
  UpstreamStatuses(const Limits& limits, SessionOf session_of)
      : limits_(&limits), session_of_(std::move(session_of)) {}

  // False: nobody can be asked. `sources`: whom to ask, the best first.
  bool Ask(SubscriberId asker, const TrackName& track, const std::vector<PeerId>& sources,
           Instant now);
  void Leave(SubscriberId asker);

  // What sessions say of requests of ours. False: it is none.
  bool OnAccepted(PeerId peer, const moqt::RequestAccepted& event);
  bool OnRefused(PeerId peer, moqt::RequestId request, const moqt::RequestError& error,
                 Instant now);
  bool IsAsking(PeerId peer) const {
    const auto first = by_request_.lower_bound({peer, 0});
    return first != by_request_.end() && first->first.first == peer;
  }
  void OnPeerGone(PeerId peer, Instant now);
  void OnTime(Instant now);
  std::optional<Instant> deadline() const;

  // To be taken after every input.
  std::vector<UpstreamStatus> TakeOutcomes() { return std::exchange(outcomes_, {}); }
  std::set<PeerId> TakeTouched() { return std::exchange(touched_, {}); }

 private:
  struct Question {
    std::deque<PeerId> next;  // Whom to ask if this one fails.
    PeerId peer = 0;
    moqt::RequestId request = 0;
    Instant answer_by;
    std::optional<moqt::RequestError> refusal;
    std::set<SubscriberId> askers;
  };
  using Questions = std::map<TrackName, Question>;

  bool AskNext(const TrackName& track, Question& question, Instant now);
  void Fail(Questions::iterator question, Instant now);
  void Cancel(Questions::iterator question);
  void Erase(Questions::iterator question);

  const Limits* limits_;
  SessionOf session_of_;
  Questions questions_;
  std::map<std::pair<PeerId, moqt::RequestId>, TrackName> by_request_;
  std::map<SubscriberId, TrackName> askers_;
  std::set<std::pair<Instant, TrackName>> due_;
  std::vector<UpstreamStatus> outcomes_;
  std::set<PeerId> touched_;
};

}  // namespace kvcast::relay
