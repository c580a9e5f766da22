#include "kvcast/relay/upstream_fetches.h"

#include <algorithm>

#include "kvcast/base/planted.h"
#include "kvcast/relay/publication.h"
#include "kvcast/relay/refusal.h"

namespace kvcast::relay {
UpstreamFetches::UpstreamFetches(const Limits& limits, RelayMetrics& metrics, Stock& stock,
                                 const Log& log, SessionOf session_of, NameOfPeer name_of)
    : limits_(&limits),
      metrics_(&metrics),
      stock_(&stock),
      log_(log),
      session_of_(std::move(session_of)),
      name_of_(std::move(name_of)) {}

UpstreamFetches::Fetch* UpstreamFetches::Coming(const TrackName& track, Location at) {
  const auto ids = by_track_.find(track);
  if (ids == by_track_.end() || Planted(PlantedBug::kNotCoalesced)) {
    return nullptr;
  }
  for (const FetchId id : ids->second) {
    Fetch& fetch = fetches_.at(id);
    if (fetch.progress.IsToCome(at)) {
      return &fetch;
    }
  }
  return nullptr;
}

// From its beginning up to what is on its way already.
std::optional<LocationRange> UpstreamFetches::Uncovered(const Wish& wish) const {
  LocationRange range = wish.range;
  const auto ids = by_track_.find(wish.track);
  if (ids == by_track_.end() || Planted(PlantedBug::kNotCoalesced)) {
    return range;
  }
  const Location begin = BeginOf(range, wish.order);
  for (const FetchId id : ids->second) {
    for (const LocationRange& covered : fetches_.at(id).progress.ToCome()) {
      if (!range.Intersect(covered)) {
        continue;
      }
      if (begin < covered.first &&
          (wish.order == moqt::GroupOrder::kAscending || begin.group == covered.first.group)) {
        const Location first = covered.first;
        range.last = std::min(
            range.last, first.object > 0 ? Location{first.group, first.object - 1}
                                         : Location{first.group - 1, LocationRange::kWholeGroup});
        range.first = std::max(range.first, begin);
      } else {
        range.first = std::max(range.first, After(covered.last));
      }
    }
  }
  return range.empty() ? std::nullopt : std::optional(range);
}

bool UpstreamFetches::Ask(SubscriberId asker, const Wish& wish, Instant now) {
  const Location begin = BeginOf(wish.range, wish.order);
  Fetch* const coming = Coming(wish.track, begin);
  if (coming == nullptr) {
    return Begin(asker, wish, now);
  }
  // Whoever is being asked is not to wait for itself.
  if (std::ranges::find(wish.sources, coming->peer) == wish.sources.end()) {
    Leave(asker);
    return false;
  }
  const FetchId id = coming->id;
  if (!coming->askers.contains(asker)) {
    metrics_->upstream.coalesced.Add();
  }
  Join(asker, id, wish, now);
  return true;
}

bool UpstreamFetches::Begin(SubscriberId asker, const Wish& wish, Instant now) {
  Leave(asker);  // Before what is left of it is asked for anew.
  const std::optional<LocationRange> range = Uncovered(wish);
  if (!range) {
    return false;
  }
  const FetchId id = ++last_id_;
  Fetch fetch(wish.track, FetchProgress(*range, wish.order));
  fetch.priority = wish.priority;
  fetch.next.assign(wish.sources.begin(), wish.sources.end());
  if (!AskNext(fetch, now) && !PutOff(fetch, wish.sources, now)) {
    return false;
  }
  if (!fetch.put_off) {
    by_request_[{fetch.peer, fetch.request}] = id;
  }
  Add(id, std::move(fetch));
  Join(asker, id, wish, now);
  return true;
}

void UpstreamFetches::Add(FetchId id, Fetch fetch) {
  fetch.id = id;
  by_track_[fetch.track].insert(id);
  fetch.looked_at = fetch.silent_until;
  silence_.emplace(fetch.looked_at, id);
  fetches_.emplace(id, std::move(fetch));
}

// REQUIRES: what is left is one range at most.
bool UpstreamFetches::AskNext(Fetch& fetch, Instant now) {
  const std::vector<LocationRange> left = fetch.progress.ToCome();
  while (!left.empty() && !fetch.next.empty()) {
    const PeerId peer = fetch.next.front();
    fetch.next.pop_front();
    moqt::Session* const session = session_of_(peer);
    if (session == nullptr) {
      continue;
    }
    const LocationRange range = left.front();
    moqt::Parameters parameters;
    parameters.group_order = fetch.progress.order();
    parameters.subscriber_priority = fetch.priority;
    const Result<moqt::RequestId> request = session->Fetch(fetch.track, range, parameters);
    if (!request.ok()) {
      continue;
    }
    fetch.progress = FetchProgress(range, fetch.progress.order());
    fetch.peer = peer;
    fetch.put_off = fetch.peer_leaves = false;
    fetch.tried.insert(peer);
    fetch.request = *request;
    fetch.asked_last = range.last;
    fetch.asked_of = name_of_(peer);
    fetch.asked_at = now;
    fetch.answer.reset();
    fetch.goes_beyond = false;
    fetch.paused = false;
    fetch.ahead.clear();
    fetch.ahead_bytes = 0;
    fetch.silent_until = now + limits_->upstream_patience;
    metrics_->upstream.fetches.Add();
    touched_.insert(peer);
    return true;
  }
  return false;
}

// Each may ask others than the one who came first.
void UpstreamFetches::AddSources(Fetch& fetch, const std::vector<PeerId>& sources) {
  for (const PeerId source : sources) {
    if (!fetch.tried.contains(source) &&
        std::ranges::find(fetch.next, source) == fetch.next.end()) {
      fetch.next.push_back(source);
    }
  }
}

void UpstreamFetches::Join(SubscriberId id, FetchId fetch, const Wish& wish, Instant now) {
  auto known = askers_.find(id);
  if (known != askers_.end() && known->second.fetch != fetch) {
    Leave(id);
    known = askers_.end();
  }
  if (known != askers_.end() && known->second.waits_for == wish.range &&
      known->second.order == wish.order) {
    return;
  }
  const Duration patience =
      std::min(limits_->miss_patience, wish.patience.value_or(limits_->miss_patience));
  Asker& asker = askers_[id];
  asker.fetch = fetch;
  asker.sources = wish.sources;
  asker.order = wish.order;
  asker.waits_for = wish.range;
  asker.give_up_at = now + patience;
  if (known == askers_.end()) {
    asker.looked_at = asker.give_up_at;
    patience_.emplace(asker.looked_at, id);
    AddSources(fetches_.at(fetch), wish.sources);
  }
  fetches_.at(fetch).askers.insert(id);
  Advance(fetch, BeginOf(wish.range, wish.order));
}

void UpstreamFetches::OnProgress(SubscriberId id, Location at) {
  const auto asker = askers_.find(id);
  if (asker != askers_.end()) {
    asker->second.waits_for.reset();
    Advance(asker->second.fetch, at);
  }
}

void UpstreamFetches::Advance(FetchId id, Location at) {
  Fetch& fetch = fetches_.at(id);
  while (!fetch.ahead.empty() && IsBefore(fetch.ahead.front().first, at, fetch.progress.order())) {
    fetch.ahead_bytes -= fetch.ahead.front().second;
    fetch.ahead.pop_front();
  }
  if (fetch.paused && fetch.ahead_bytes <= limits_->upstream_ahead_bytes / 2) {
    fetch.paused = false;
    ready_.insert(id);
  }
}

void UpstreamFetches::Leave(SubscriberId id) {
  const auto asker = askers_.find(id);
  if (asker == askers_.end()) {
    return;
  }
  const FetchId fetch_id = asker->second.fetch;
  Forget(id);
  fetches_.at(fetch_id).askers.erase(id);
  EraseUnwanted(fetch_id);
}

// Where all has come but the word that it is all, that is waited for.
void UpstreamFetches::EraseUnwanted(FetchId id) {
  const auto fetch = fetches_.find(id);
  if (fetch != fetches_.end() && fetch->second.askers.empty() && fetch->second.branches == 0 &&
      !(fetch->second.answer && fetch->second.progress.ToCome().empty())) {
    Cancel(fetch->second, moqt::ResetCode::kCancelled);
    Erase(id);
  }
}

void UpstreamFetches::Forget(SubscriberId id) {
  const auto asker = askers_.extract(id);
  patience_.erase({asker.mapped().looked_at, id});
}

void UpstreamFetches::Cancel(Fetch& fetch, moqt::ResetCode code) {
  moqt::Session* const session = fetch.put_off ? nullptr : session_of_(fetch.peer);
  if (session != nullptr) {
    session->Cancel(fetch.request, code);
    touched_.insert(fetch.peer);
  }
}

void UpstreamFetches::Erase(FetchId id) {
  const auto fetch = fetches_.find(id);
  const auto ids = by_track_.find(fetch->second.track);
  ids->second.erase(id);
  if (ids->second.empty()) {
    by_track_.erase(ids);
  }
  // Where somebody was asked for it.
  if (const auto request = by_request_.find({fetch->second.peer, fetch->second.request});
      request != by_request_.end() && request->second == id) {
    by_request_.erase(request);
  }
  ready_.erase(id);
  silence_.erase({fetch->second.looked_at, id});
  const FetchId from = fetch->second.branch_of;
  fetches_.erase(fetch);
  if (const auto known = fetches_.find(from); known != fetches_.end()) {
    --known->second.branches;
    EraseUnwanted(from);
  }
}

std::optional<moqt::FetchOk> UpstreamFetches::LastTold(const TrackName& track) const {
  std::optional<moqt::FetchOk> furthest;
  if (const auto ids = by_track_.find(track); ids != by_track_.end()) {
    for (const FetchId id : ids->second) {
      const std::optional<moqt::FetchOk>& answer = fetches_.at(id).answer;
      if (answer && (!furthest || furthest->last < answer->last)) {
        furthest = answer;
      }
    }
  }
  return furthest;
}

bool UpstreamFetches::OnAccepted(PeerId peer, const moqt::FetchAccepted& event, Instant now) {
  const auto found = by_request_.find({peer, event.request});
  if (found == by_request_.end()) {
    return false;
  }
  const FetchId id = found->second;
  Fetch& fetch = fetches_.at(id);
  const Location last = event.answer.last;
  const bool exact = last < fetch.asked_last;
  // The end of a group is where no object stands.
  const std::optional<Location> largest =
      exact && fetch.progress.range().first <= last && last.object != LocationRange::kWholeGroup
          ? std::optional(last)
          : std::nullopt;
  const Result<void> described =
      stock_->Describe(fetch.track, event.answer.properties, largest, Durability::kMemory, now);
  if (!described.ok()) {
    Cancel(fetch, moqt::ResetCode::kExcessiveLoad);
    fetch.refusal = Later(moqt::RequestCode::kExcessiveLoad, limits_->retry_after,
                          described.error().ToString());
    fetch.next.clear();
    Fail(id, UpstreamTrial::Outcome::kBrokenOff, now);
    return true;
  }
  fetch.answer = event.answer;
  fetch.progress.Clip(last);
  fetch.goes_beyond = exact && !event.answer.end_of_track;
  fetch.silent_until = now + limits_->upstream_patience;
  for (const SubscriberId& asker : fetch.askers) {
    outcomes_.push_back(Answered{asker, exact});
  }
  ready_.insert(id);
  return true;
}

bool UpstreamFetches::OnRefused(PeerId peer, moqt::RequestId request,
                                const moqt::RequestError& error, Instant now) {
  const auto found = by_request_.find({peer, request});
  if (found == by_request_.end()) {
    return false;
  }
  Fetch& fetch = fetches_.at(found->second);
  fetch.peer_leaves = error.code == moqt::RequestCode::kGoingAway;
  const moqt::RequestError passed =
      error.code == moqt::RequestCode::kInvalidRange ? error : PassedOn(error, fetch.track);
  fetch.refusal = fetch.refusal ? BetterOf(*fetch.refusal, passed) : passed;
  if (error.code != moqt::RequestCode::kInvalidRange) {
    NoteFailed(fetch);
  }
  Fail(found->second, UpstreamTrial::Outcome::kRefused, now);
  return true;
}

bool UpstreamFetches::OnReady(PeerId peer, moqt::RequestId request) {
  const auto found = by_request_.find({peer, request});
  if (found == by_request_.end()) {
    return false;
  }
  ready_.insert(found->second);
  return true;
}

std::vector<UpstreamTrial> UpstreamFetches::TrialsOf(const Fetch& fetch,
                                                     UpstreamTrial::Outcome outcome, Instant now) {
  std::vector<UpstreamTrial> trials = fetch.trials;
  if (trials.size() < UpstreamTrial::kKeptMax) {
    trials.push_back({fetch.asked_of, outcome, now - fetch.asked_at});
  }
  return trials;
}

void UpstreamFetches::Fail(FetchId id, UpstreamTrial::Outcome outcome, Instant now) {
  metrics_->upstream.failures.Add();
  Fetch& fetch = fetches_.at(id);
  fetch.trials = TrialsOf(fetch, outcome, now);
  if (outcome != UpstreamTrial::Outcome::kRefused) {
    NoteFailed(fetch);
  }
  if (outcome == UpstreamTrial::Outcome::kTooLate) {
    for (const SubscriberId& asker : fetch.askers) {
      outcomes_.push_back(Silent{asker, fetch.peer});
    }
  }
  Cancel(fetch, moqt::ResetCode::kCancelled);  // And what nobody took.
  if (fetch.askers.empty()) {
    Erase(id);
    return;
  }
  ready_.erase(id);
  if (!std::exchange(fetch.put_off, false)) {
    by_request_.erase({fetch.peer, fetch.request});
  }
  const std::optional<FetchId> branch = SplitOff(id);
  AskOn(id, now);
  if (branch) {
    AskOn(*branch, now);
  }
}

// Those that may not ask who is asked next are told; where nobody is, all are. Where somebody else
// has said that it does not know, that is the answer.
void UpstreamFetches::AskOn(FetchId id, Instant now) {
  Fetch& fetch = fetches_.at(id);
  const bool goes_on =
      AskNext(fetch, now) || PutOff(fetch, {fetch.tried.begin(), fetch.tried.end()}, now);
  if (goes_on && !fetch.put_off) {
    by_request_[{fetch.peer, fetch.request}] = id;
  }
  const moqt::RequestError error = fetch.refusal.value_or(
      Later(moqt::RequestCode::kTimeout, limits_->retry_after, "Nobody upstream answers."));
  for (const SubscriberId& each : std::set<SubscriberId>(fetch.askers)) {
    Asker& asker = askers_.at(each);
    if (goes_on && std::ranges::find(asker.sources, fetch.peer) != asker.sources.end()) {
      continue;
    }
    if (asker.waits_for && !fetch.unknown) {
      outcomes_.push_back(Failed{each, error, fetch.trials});
    } else if (asker.waits_for) {
      FetchProgress over = fetch.progress;
      (void)over.Finish();
      const Location through = over.PassedOf(*asker.waits_for, asker.order);
      outcomes_.push_back(Settled{each, through, false, fetch.trials});
    }
    asker.waits_for.reset();
    Dismiss(each, id);
  }
  if (fetch.askers.empty() && (fetch.branches == 0 || !goes_on)) {
    if (goes_on) {
      Cancel(fetch, moqt::ResetCode::kCancelled);
    }
    Erase(id);
  }
}

// When something is due is looked at when it was due before: what goes on costs nothing.
void UpstreamFetches::OnTime(Instant now) {
  while (!silence_.empty() && silence_.begin()->first <= now) {
    const FetchId id = silence_.begin()->second;
    silence_.erase(silence_.begin());
    Fetch& fetch = fetches_.at(id);
    const bool silent = !fetch.paused && fetch.silent_until <= now;
    fetch.looked_at =
        silent || fetch.paused ? now + limits_->upstream_patience : fetch.silent_until;
    silence_.emplace(fetch.looked_at, id);
    if (silent) {
      log_.Warning("upstream is silent", {{"peer", fetch.peer}, {"track", fetch.track.Render()}});
      Fail(id, UpstreamTrial::Outcome::kTooLate, now);
    }
  }
  while (!patience_.empty() && patience_.begin()->first <= now) {
    const SubscriberId id = patience_.begin()->second;
    Asker& asker = askers_.at(id);
    if (asker.waits_for && asker.give_up_at <= now) {
      std::vector<UpstreamTrial> trials =
          TrialsOf(fetches_.at(asker.fetch), UpstreamTrial::Outcome::kTooLate, now);
      Leave(id);
      outcomes_.push_back(Failed{id,
                                 Later(moqt::RequestCode::kTimeout, limits_->retry_after,
                                       "Upstream did not answer in time."),
                                 std::move(trials)});
      continue;
    }
    patience_.erase(patience_.begin());
    asker.looked_at = asker.waits_for ? asker.give_up_at : now + limits_->miss_patience;
    patience_.emplace(asker.looked_at, id);
  }
}

std::optional<Instant> UpstreamFetches::deadline() const {
  std::optional<Instant> first;
  if (!silence_.empty()) {
    first = silence_.begin()->first;
  }
  if (!patience_.empty() && (!first || patience_.begin()->first < *first)) {
    first = patience_.begin()->first;
  }
  return first;
}

std::vector<TrackName> UpstreamFetches::Tracks() const {
  std::vector<TrackName> tracks;
  for (const auto& [track, ids] : by_track_) {
    tracks.push_back(track);
  }
  return tracks;
}

void UpstreamFetches::Drop(const TrackName& track, const moqt::RequestError& reason) {
  const auto ids = by_track_.find(track);
  if (ids == by_track_.end()) {
    return;
  }
  for (const FetchId id : std::set<FetchId>(ids->second)) {
    if (!fetches_.contains(id)) {
      continue;  // It has gone with a branch of its own.
    }
    Fetch& fetch = fetches_.at(id);
    Cancel(fetch, reason.code == moqt::RequestCode::kMalformedTrack
                      ? moqt::ResetCode::kMalformedTrack
                      : moqt::ResetCode::kCancelled);
    for (const SubscriberId& asker : fetch.askers) {
      Forget(asker);
      outcomes_.push_back(Failed{asker, reason, {}});
    }
    fetch.askers.clear();
    Erase(id);
  }
}

void UpstreamFetches::Contradict(FetchId id, const Error& error) {
  const Fetch& fetch = fetches_.at(id);
  metrics_->upstream.failures.Add();
  outcomes_.push_back(Contradicted{fetch.track, fetch.peer, error.ToString()});
  const TrackName track = fetch.track;
  Drop(track, Because(moqt::RequestCode::kMalformedTrack, "The track contradicts itself."));
}

}  // namespace kvcast::relay
