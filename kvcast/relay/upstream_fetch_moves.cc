// What becomes of fetches when a session of those who are asked goes, or another takes its place.
#include <algorithm>
#include <vector>

#include "kvcast/relay/upstream_fetches.h"

namespace kvcast::relay {

void UpstreamFetches::OnPeerGone(PeerId peer, Instant now) {
  std::vector<FetchId> gone;
  for (auto each = by_request_.lower_bound({peer, 0});
       each != by_request_.end() && each->first.first == peer; ++each) {
    gone.push_back(each->second);
  }
  for (const FetchId id : gone) {
    if (fetches_.contains(id)) {  // It may have gone with a branch of its own.
      Fail(id, UpstreamTrial::Outcome::kGone, now);
    }
  }
}

// Once: who does not come back is waited for no longer than one who is silent.
bool UpstreamFetches::PutOff(Fetch& fetch, const std::vector<PeerId>& peers, Instant now) {
  if (fetch.was_put_off || fetch.progress.ToCome().size() != 1) {
    return false;
  }
  for (const PeerId peer : peers) {
    const moqt::Session* const session = session_of_(peer);
    const bool leaves = session != nullptr && !session->closed() &&
                        (session->goaway() || (fetch.peer_leaves && fetch.peer == peer));
    if (leaves) {
      fetch.put_off = fetch.was_put_off = true;
      fetch.peer = peer;
      fetch.asked_of = name_of_(peer);
      fetch.asked_at = now;
      fetch.silent_until = now + limits_->upstream_patience;
      return true;
    }
  }
  return false;
}

void UpstreamFetches::OnMoved(PeerId from, PeerId to, Instant now) {
  for (auto& [id, asker] : askers_) {
    const auto place = std::ranges::find(asker.sources, from);
    if (place != asker.sources.end() &&
        std::ranges::find(asker.sources, to) == asker.sources.end()) {
      asker.sources.insert(place, to);
    }
  }
  std::vector<FetchId> put_off;
  for (auto& [id, fetch] : fetches_) {
    if (std::erase(fetch.next, from) > 0 || fetch.peer == from) {
      fetch.next.push_front(to);
    }
    if (fetch.put_off && fetch.peer == from) {
      put_off.push_back(id);
    }
  }
  for (const FetchId id : put_off) {
    if (fetches_.contains(id)) {
      fetches_.at(id).put_off = false;
      AskOn(id, now);
    }
  }
}

bool UpstreamFetches::IsAsking(PeerId peer) const {
  const auto first = by_request_.lower_bound({peer, 0});
  return first != by_request_.end() && first->first.first == peer;
}

}  // namespace kvcast::relay
