// What whoever runs a relay wants of it: that it forgets something, or takes other tokens.
#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

#include "kvcast/relay/refusal.h"
#include "kvcast/relay/relay.h"
#include "kvcast/relay/relay_above.h"

namespace kvcast::relay {

// Whoever is publishing it is broken off, and so is who is being sent it: nothing of it comes in by
// a way that was open before. Who wants it here again publishes it anew.
void Relay::BreakOff(const ForgetScope& scope) {
  for (auto& [id, peer] : peers_) {
    std::vector<moqt::RequestId> publications;
    for (const auto& [request, publication] : peer.publications) {
      if (scope.Covers(publication.track())) {
        publications.push_back(request);
      }
    }
    for (const moqt::RequestId request : publications) {
      peer.session->Cancel(request, moqt::ResetCode::kCancelled);
      EndPublication(peer, peer.publications.find(request), moqt::DoneCode::kInternalError,
                     "The track was forgotten.");
      Touch(id);
    }
    for (auto fetch = peer.fetches.begin(); fetch != peer.fetches.end();) {
      const auto next = std::next(fetch);
      if (scope.MayHold(fetch->second.track())) {
        fetch->second.Reset(moqt::ResetCode::kCancelled);
        EndFetch(peer, fetch);
        Touch(id);
      }
      fetch = next;
    }
  }
  std::vector<TrackName> followed;
  for (const auto& [track, subscribers] : audience_.tracks()) {
    if (scope.Covers(track)) {
      followed.push_back(track);
    }
  }
  for (const TrackName& track : followed) {
    audience_.EndTrack(track, moqt::DoneCode::kInternalError, "The track was forgotten.");
  }
  for (const TrackName& track : above_->fetches.Tracks()) {
    if (scope.MayHold(track)) {
      above_->fetches.Drop(track,
                           Because(moqt::RequestCode::kDoesNotExist, "The track was forgotten."));
    }
  }
}

ForgetReport Relay::Forget(const ForgetScope& scope, Instant now, ForgetMode mode) {
  now_ = std::max(now_, now);
  if (mode == ForgetMode::kDryRun) {
    return stock_.ForgetAll(scope, now_, /*dry_run=*/true);
  }
  if (mode == ForgetMode::kNow) {
    above_->NoteForgotten(scope);
  }
  const ForgetReport report = above_->ForgetHere(scope);
  Settle();
  return report;
}

const ForgetMemory* Relay::TakeForgotten() {
  return above_->forgets.TakeChanged() ? &above_->forgets.memory() : nullptr;
}

void Relay::ReplaceAccess(Access::Options access, const Credentials& credentials, Instant now) {
  now_ = std::max(now_, now);
  for (const auto& [id, credential] : credentials) {
    if (const auto peer = peers_.find(id); peer != peers_.end()) {
      peer->second.credential = credential;
    }
  }
  gate_.Replace(std::move(access));
  Settle();
}

}  // namespace kvcast::relay
