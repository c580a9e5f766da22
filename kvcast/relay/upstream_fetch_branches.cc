// What somebody who was asked does not know, and others may.
#include <algorithm>
#include <utility>
#include <vector>

#include "kvcast/relay/upstream_fetches.h"

namespace kvcast::relay {
namespace {

// What lies from where a range begins, walked in this order, to there, as far as that is one range.
LocationRange UpTo(const LocationRange& range, moqt::GroupOrder order, Location through) {
  const Location begin = BeginOf(range, order);
  if (order == moqt::GroupOrder::kAscending || begin.group == through.group) {
    return {begin, through};
  }
  const Location end{through.group, through.group == range.last.group ? range.last.object
                                                                      : LocationRange::kWholeGroup};
  const uint64_t first_group = through < end ? through.group + 1 : through.group;
  return {std::max(range.first, Location{first_group, 0}), range.last};
}

}  // namespace

void UpstreamFetches::OnUnknown(FetchId id, Instant now) {
  Fetch& fetch = fetches_.at(id);
  for (const SubscriberId& each : std::set<SubscriberId>(fetch.askers)) {
    Asker& asker = askers_.at(each);
    if (!asker.waits_for || fetch.progress.IsToCome(BeginOf(*asker.waits_for, asker.order))) {
      continue;
    }
    const Location through = fetch.progress.PassedOf(*asker.waits_for, asker.order);
    if (!Branch(each, id, through, now)) {
      asker.waits_for.reset();
      outcomes_.push_back(
          Settled{each, through, false, TrialsOf(fetch, UpstreamTrial::Outcome::kUnknown, now)});
    }
  }
}

// Who stands there as well may have begun it just now.
bool UpstreamFetches::Branch(SubscriberId id, FetchId from, Location through, Instant now) {
  const Asker& asker = askers_.at(id);
  Fetch& fetch = fetches_.at(from);
  const auto may_ask = [&asker](PeerId peer) {
    return std::ranges::find(asker.sources, peer) != asker.sources.end();
  };
  const Location begin = BeginOf(*asker.waits_for, asker.order);
  if (const Fetch* const coming = Coming(fetch.track, begin)) {
    if (may_ask(coming->peer)) {
      MoveTo(id, coming->id);
      return true;
    }
    return false;
  }
  Wish wish{fetch.track, UpTo(*asker.waits_for, asker.order, through), asker.order, {}, {}, {}};
  const std::optional<LocationRange> range = Uncovered(wish);
  if (!range) {
    return false;
  }
  Fetch branch(fetch.track, FetchProgress(*range, asker.order));
  branch.priority = fetch.priority;
  branch.tried = fetch.tried;
  branch.trials = TrialsOf(fetch, UpstreamTrial::Outcome::kUnknown, now);
  branch.branch_of = from;
  branch.unknown = true;
  std::ranges::copy_if(fetch.next, std::back_inserter(branch.next), may_ask);
  if (!AskNext(branch, now)) {
    return false;
  }
  const FetchId branch_id = ++last_id_;
  ++fetch.branches;
  by_request_[{branch.peer, branch.request}] = branch_id;
  Add(branch_id, std::move(branch));
  MoveTo(id, branch_id);
  return true;
}

// What it waits for, and for how long, stays as it is.
void UpstreamFetches::MoveTo(SubscriberId id, FetchId to) {
  Asker& asker = askers_.at(id);
  fetches_.at(asker.fetch).askers.erase(id);
  asker.fetch = to;
  Fetch& fetch = fetches_.at(to);
  fetch.askers.insert(id);
  AddSources(fetch, asker.sources);
}

void UpstreamFetches::Dismiss(SubscriberId id, FetchId over) {
  const FetchId from = fetches_.at(over).branch_of;
  if (fetches_.contains(from)) {
    MoveTo(id, from);
  } else {
    fetches_.at(over).askers.erase(id);
    Forget(id);
  }
}

std::optional<UpstreamFetches::FetchId> UpstreamFetches::SplitOff(FetchId id) {
  Fetch& fetch = fetches_.at(id);
  const std::vector<LocationRange> left = fetch.progress.ToCome();
  const moqt::GroupOrder order = fetch.progress.order();
  if (left.size() < 2 || fetch.next.empty()) {
    return std::nullopt;
  }
  const FetchId branch_id = ++last_id_;
  Fetch branch(fetch.track, FetchProgress(left.front(), order));
  branch.priority = fetch.priority;
  branch.next = fetch.next;
  branch.tried = fetch.tried;
  branch.trials = fetch.trials;
  branch.refusal = fetch.refusal;
  branch.branch_of = id;
  branch.unknown = fetch.unknown;
  branch.silent_until = fetch.silent_until;
  ++fetch.branches;
  fetch.progress = FetchProgress(left.back(), order);
  Add(branch_id, std::move(branch));
  for (const SubscriberId& each : std::set<SubscriberId>(fetch.askers)) {
    const Asker& asker = askers_.at(each);
    if (!asker.waits_for || !fetch.progress.IsToCome(BeginOf(*asker.waits_for, asker.order))) {
      MoveTo(each, branch_id);
    }
  }
  return branch_id;
}

void UpstreamFetches::NoteFailed(const Fetch& fetch) {
  for (auto from = fetches_.find(fetch.branch_of); from != fetches_.end();
       from = fetches_.find(from->second.branch_of)) {
    std::erase(from->second.next, fetch.peer);
    from->second.tried.insert(fetch.peer);
  }
}

}  // namespace kvcast::relay
