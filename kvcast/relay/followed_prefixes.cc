#include "kvcast/relay/followed_prefixes.h"

#include <algorithm>
#include <iterator>

namespace kvcast::relay {

void FollowedPrefixes::Want(const TrackNamespace& prefix, Instant now) {
  if (upstreams_->size() == 0 ||
      (wanted_.size() >= limits_->followed_max && !wanted_.contains(prefix))) {
    return;
  }
  const auto [found, is_new] = wanted_.try_emplace(prefix);
  ++found->second.count;
  if (is_new) {
    UpdateAll(now);
  }
  Schedule();
}

void FollowedPrefixes::Release(const TrackNamespace& prefix, Instant now) {
  const auto found = wanted_.find(prefix);
  if (found != wanted_.end() && found->second.count > 0 && --found->second.count == 0) {
    found->second.until = now + limits_->follow_linger;
    Schedule();
  }
}

std::set<TrackNamespace> FollowedPrefixes::CoverFor(size_t upstream) const {
  std::set<TrackNamespace> cover;
  for (const auto& [prefix, wanted] : wanted_) {
    for (const TrackNamespace& within : upstreams_->Within(upstream, prefix)) {
      cover.insert(within);
    }
  }
  // A prefix stands right before all that is below it.
  for (auto each = cover.begin(); each != cover.end(); ++each) {
    for (auto below = std::next(each); below != cover.end() && each->IsPrefixOf(*below);) {
      below = cover.erase(below);
    }
  }
  return cover;
}

void FollowedPrefixes::Update(PeerId peer, Instant now) {
  const std::optional<size_t> upstream = upstreams_->Find(peer);
  moqt::Session* const session = session_of_(peer);
  if (!upstream || session == nullptr) {
    return;
  }
  Asked& asked = asked_[peer];
  asked.again_at.reset();
  const std::set<TrackNamespace> cover = CoverFor(*upstream);
  for (auto each = asked.prefixes.begin(); each != asked.prefixes.end();) {
    if (cover.contains(each->first)) {
      ++each;
      continue;
    }
    session->Cancel(each->second, moqt::ResetCode::kCancelled);
    touched_.insert(peer);
    left_.emplace_back(peer, each->first);
    asked.unanswered.erase(each->first);
    each = asked.prefixes.erase(each);
  }
  for (const TrackNamespace& prefix : cover) {
    if (asked.prefixes.contains(prefix)) {
      continue;
    }
    const Result<moqt::RequestId> request = ask_(*session, prefix);
    touched_.insert(peer);
    if (request.ok()) {
      asked.prefixes.emplace(prefix, *request);
      asked.unanswered.insert(prefix);
    } else {
      asked.again_at = now + limits_->retry_after;
    }
  }
}

void FollowedPrefixes::UpdateAll(Instant now) {
  for (const PeerId peer : upstreams_->Connected()) {
    Update(peer, now);
  }
}

bool FollowedPrefixes::Owns(PeerId peer, moqt::RequestId request) const {
  const auto asked = asked_.find(peer);
  return asked != asked_.end() &&
         std::ranges::any_of(asked->second.prefixes,
                             [&](const auto& each) { return each.second == request; });
}

bool FollowedPrefixes::OnAccepted(PeerId peer, moqt::RequestId request) {
  const auto asked = asked_.find(peer);
  if (asked == asked_.end() || !Owns(peer, request)) {
    return false;
  }
  for (const auto& [prefix, each] : asked->second.prefixes) {
    if (each == request) {
      asked->second.unanswered.erase(prefix);
    }
  }
  return true;
}

bool FollowedPrefixes::IsToBeAnswered(const TrackNamespace& prefix) const {
  return std::ranges::any_of(asked_, [&](const auto& asked) {
    return std::ranges::any_of(asked.second.unanswered, [&](const TrackNamespace& each) {
      return each.IsPrefixOf(prefix) || prefix.IsPrefixOf(each);
    });
  });
}

bool FollowedPrefixes::OnOver(PeerId peer, moqt::RequestId request, Instant now) {
  const auto asked = asked_.find(peer);
  if (asked == asked_.end() || !Owns(peer, request)) {
    return false;
  }
  std::erase_if(asked->second.prefixes, [&](const auto& each) { return each.second == request; });
  std::erase_if(asked->second.unanswered, [&](const TrackNamespace& prefix) {
    return !asked->second.prefixes.contains(prefix);
  });
  // One that another session has taken the place of is asked no more.
  if (upstreams_->Has(peer)) {
    asked->second.again_at = now + limits_->retry_after;
  }
  Schedule();
  return true;
}

bool FollowedPrefixes::IsWanted(const TrackNamespace& space) const {
  for (size_t fields = 0; fields <= space.field_count() && !wanted_.empty(); ++fields) {
    if (wanted_.contains(space.First(fields))) {
      return true;
    }
  }
  return false;
}

void FollowedPrefixes::OnTime(Instant now) {
  const size_t before = wanted_.size();
  std::erase_if(wanted_, [&](const auto& each) {
    return each.second.count == 0 && each.second.until <= now;
  });
  if (wanted_.size() != before) {
    UpdateAll(now);
  }
  for (const PeerId peer : upstreams_->Connected()) {
    const auto asked = asked_.find(peer);
    if (asked != asked_.end() && asked->second.again_at && *asked->second.again_at <= now) {
      Update(peer, now);
    }
  }
  Schedule();
}

void FollowedPrefixes::Schedule() {
  deadline_.reset();
  const auto add = [&](Instant at) { deadline_ = deadline_ ? std::min(*deadline_, at) : at; };
  for (const auto& [prefix, wanted] : wanted_) {
    if (wanted.count == 0) {
      add(wanted.until);
    }
  }
  for (const auto& [peer, asked] : asked_) {
    if (asked.again_at) {
      add(*asked.again_at);
    }
  }
}

}  // namespace kvcast::relay
