#include "kvcast/relay/followed_prefixes.h"

#include <algorithm>
#include <iterator>

namespace kvcast::relay {

size_t FollowedPrefixes::CountOf(const std::string& who) const {
  const auto count = counts_.find(who);
  return count == counts_.end() ? 0 : count->second;
}

// Nobody has more than is left to others, so however many somebody wants, who comes next finds
// room. What takes the place of one's own changes nothing.
bool FollowedPrefixes::HasRoom(const TrackNamespace& prefix, const std::string& who,
                               const Wanted* leaves) const {
  const auto found = wanted_.find(prefix);
  if (found != wanted_.end() && found->second.count > 0) {
    return true;
  }
  const bool frees = leaves != nullptr && leaves->count == 1;
  const size_t in_use = wanted_.size() - lingering_.size() - (frees ? 1 : 0);
  if (in_use >= limits_->followed_max) {
    return false;
  }
  return who.empty() || (frees && leaves->who == who) ||
         CountOf(who) < limits_->followed_max - in_use;
}

// Some more than one, so that they are not looked for each time.
void FollowedPrefixes::GiveWay() {
  for (size_t left = lingering_.size() / 8 + 1; left > 0 && !lingering_.empty(); --left) {
    wanted_.erase(lingering_.begin()->second);
    lingering_.erase(lingering_.begin());
  }
}

bool FollowedPrefixes::Want(SubscriberId request, const TrackNamespace& prefix,
                            const std::string& who, Instant now) {
  const auto before = requests_.find(request);
  if (upstreams_->size() == 0 || (before != requests_.end() && before->second == prefix)) {
    return true;
  }
  if (!HasRoom(prefix, who, before == requests_.end() ? nullptr : &wanted_.at(before->second))) {
    return false;
  }
  Release(request, now);
  auto found = wanted_.find(prefix);
  const bool is_new = found == wanted_.end();
  const bool gives_way = is_new && wanted_.size() >= limits_->followed_max;
  if (gives_way) {
    GiveWay();
  }
  if (is_new) {
    found = wanted_.try_emplace(prefix).first;
  }
  Wanted& wanted = found->second;
  if (wanted.count++ == 0) {
    lingering_.erase({wanted.until, prefix});
    wanted.who = who;
    ++counts_[who];
  }
  requests_.emplace(request, prefix);
  if (gives_way) {
    UpdateAll(now);
  } else if (is_new) {
    for (const PeerId peer : upstreams_->Connected()) {
      Cover(peer, prefix, now);
    }
  }
  Schedule();
  return true;
}

void FollowedPrefixes::Keep(const TrackNamespace& prefix, Instant now) {
  if (upstreams_->size() == 0 || !kept_.insert(prefix).second) {
    return;
  }
  for (const PeerId peer : upstreams_->Connected()) {
    Cover(peer, prefix, now);
  }
  Schedule();
}

void FollowedPrefixes::Release(SubscriberId request, Instant now) {
  const auto released = requests_.extract(request);
  if (!released) {
    return;
  }
  Wanted& wanted = wanted_.at(released.mapped());
  if (--wanted.count == 0) {
    const auto count = counts_.find(wanted.who);
    if (--count->second == 0) {
      counts_.erase(count);
    }
    wanted.until = now + limits_->follow_linger;
    lingering_.emplace(wanted.until, released.mapped());
    Schedule();
  }
}

std::set<TrackNamespace> FollowedPrefixes::CoverFor(size_t upstream) const {
  std::set<TrackNamespace> cover;
  const auto add = [&](const TrackNamespace& prefix) {
    for (const TrackNamespace& within : upstreams_->Within(upstream, prefix)) {
      cover.insert(within);
    }
  };
  std::ranges::for_each(kept_, add);
  for (const auto& [prefix, wanted] : wanted_) {
    add(prefix);
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
  const std::set<TrackNamespace> incomplete = std::exchange(asked.incomplete, {});
  for (auto each = asked.prefixes.begin(); each != asked.prefixes.end();) {
    if (cover.contains(each->first) && !incomplete.contains(each->first)) {
      ++each;
      continue;
    }
    each = Leave(peer, asked, each);
  }
  for (const TrackNamespace& prefix : cover) {
    if (!asked.prefixes.contains(prefix)) {
      AskFor(peer, asked, prefix, now);
    }
  }
}

std::map<TrackNamespace, moqt::RequestId>::iterator FollowedPrefixes::Leave(
    PeerId peer, Asked& asked, std::map<TrackNamespace, moqt::RequestId>::iterator each) {
  session_of_(peer)->Cancel(each->second, moqt::ResetCode::kCancelled);
  touched_.insert(peer);
  left_.emplace_back(peer, each->first);
  asked.unanswered.erase(each->first);
  asked.incomplete.erase(each->first);
  return asked.prefixes.erase(each);
}

void FollowedPrefixes::AskFor(PeerId peer, Asked& asked, const TrackNamespace& prefix,
                              Instant now) {
  const Result<moqt::RequestId> request = ask_(*session_of_(peer), prefix);
  touched_.insert(peer);
  if (request.ok()) {
    asked.prefixes.emplace(prefix, *request);
    asked.unanswered.insert(prefix);
  } else {
    asked.again_at = now + limits_->retry_after;
  }
}

void FollowedPrefixes::Cover(PeerId peer, const TrackNamespace& prefix, Instant now) {
  if (session_of_(peer) == nullptr) {
    return;
  }
  Asked& asked = asked_[peer];
  for (const TrackNamespace& within : upstreams_->Within(*upstreams_->Find(peer), prefix)) {
    bool covered = false;
    for (size_t fields = 0; fields <= within.field_count() && !covered; ++fields) {
      covered = asked.prefixes.contains(within.First(fields));
    }
    if (covered) {
      continue;
    }
    for (auto below = asked.prefixes.lower_bound(within);
         below != asked.prefixes.end() && within.IsPrefixOf(below->first);) {
      below = Leave(peer, asked, below);
    }
    AskFor(peer, asked, within, now);
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
  for (std::set<TrackNamespace>* const each :
       {&asked->second.unanswered, &asked->second.incomplete}) {
    std::erase_if(*each, [&](const TrackNamespace& prefix) {
      return !asked->second.prefixes.contains(prefix);
    });
  }
  // One that another session has taken the place of is asked no more.
  if (upstreams_->Has(peer)) {
    asked->second.again_at = now + limits_->retry_after;
  }
  Schedule();
  return true;
}

bool FollowedPrefixes::OnBlocked(PeerId peer, moqt::RequestId request, Instant now) {
  const auto asked = asked_.find(peer);
  if (asked == asked_.end() || !Owns(peer, request)) {
    return false;
  }
  for (const auto& [prefix, each] : asked->second.prefixes) {
    if (each == request) {
      asked->second.incomplete.insert(prefix);
    }
  }
  if (upstreams_->Has(peer) && !asked->second.again_at) {
    asked->second.again_at = now + limits_->retry_after;
    Schedule();
  }
  return true;
}

bool FollowedPrefixes::IsWanted(const TrackNamespace& space) const {
  const bool any = !wanted_.empty() || !kept_.empty();
  for (size_t fields = 0; fields <= space.field_count() && any; ++fields) {
    const TrackNamespace prefix = space.First(fields);
    if (wanted_.contains(prefix) || kept_.contains(prefix)) {
      return true;
    }
  }
  return false;
}

void FollowedPrefixes::OnTime(Instant now) {
  const size_t before = wanted_.size();
  while (!lingering_.empty() && lingering_.begin()->first <= now) {
    wanted_.erase(lingering_.begin()->second);
    lingering_.erase(lingering_.begin());
  }
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
  if (!lingering_.empty()) {
    add(lingering_.begin()->first);
  }
  for (const auto& [peer, asked] : asked_) {
    if (asked.again_at) {
      add(*asked.again_at);
    }
  }
}

}  // namespace kvcast::relay
