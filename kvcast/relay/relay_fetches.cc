// What peers fetch of a relay: from its tiers, or from those upstream.
#include <algorithm>
#include <utility>

#include "kvcast/base/planted.h"
#include "kvcast/relay/relay.h"
#include "kvcast/relay/relay_above.h"

namespace kvcast::relay {
namespace {

// FILL_TIMEOUT: how long a fetch waits in all for what is not at hand.
std::optional<Duration> PatienceOf(const moqt::Parameters& parameters) {
  constexpr uint64_t kMost = 3'600'000;
  return parameters.fill_timeout_ms ? std::optional<Duration>(std::chrono::milliseconds(
                                          std::min(*parameters.fill_timeout_ms, kMost)))
                                    : std::nullopt;
}

// The end of the last group that a fetch covers is known only if no object can come after it.
bool EndsTrack(const TrackFacts& facts, const std::optional<moqt::FetchOk>& told, Location last) {
  if (facts.end) {
    return facts.largest == last && *facts.end == Location{last.group, last.object + 1};
  }
  return told && told->end_of_track && told->last == last;
}

moqt::RequestError NothingYet() {
  return Because(moqt::RequestCode::kInvalidRange, "The track has no object in this range yet.");
}

}  // namespace

size_t Relay::fetch_count() const {
  size_t count = 0;
  for (const auto& [id, peer] : peers_) {
    count += peer.fetches.size();
  }
  return count;
}

moqt::RequestError Relay::OutOfReach() const {
  return Later(moqt::RequestCode::kTimeout, limits_.retry_after,
               "It is not here, and those upstream who may have it are out of reach.");
}

void Relay::On(Peer& peer, const moqt::FetchReceived& event) {
  const End end = above_->AwaitEnd(peer, event);
  if (end != End::kToCome) {
    AnswerFetch(peer, event, end);
  }
}

void Relay::AnswerFetch(Peer& peer, const moqt::FetchReceived& event, End end) {
  const std::optional<TrackFacts> facts = stock_.Find(event.track);
  if (!facts) {
    NoteMiss({.at = now_,
              .peer = peer.id,
              .track = event.track,
              .range = event.range,
              .reason = Miss::Reason::kNoTrack});
    Refuse(peer, event.request,
           end == End::kOutOfReach
               ? OutOfReach()
               : Because(moqt::RequestCode::kDoesNotExist, "The track is not here."));
    return;
  }
  const std::optional<moqt::FetchOk> told = above_->fetches.LastTold(event.track);
  const std::optional<Location> largest =
      told ? std::max(facts->largest, std::optional(told->last)) : facts->largest;
  if (!largest || *largest < event.range.first) {
    Refuse(peer, event.request, end == End::kOutOfReach ? OutOfReach() : NothingYet());
    return;
  }
  LocationRange range = event.range;
  // What is out of reach is unknown, and not beyond the end.
  if (*largest < range.last && end != End::kOutOfReach &&
      !above_->IsNothingBeyond(event, *largest)) {
    range.last = *largest;
    range.last.object -= Planted(PlantedBug::kFetchEndsEarly) && largest->object > 0 ? 1U : 0U;
  }
  moqt::FetchOk answer;
  answer.last = range.last;
  answer.end_of_track = EndsTrack(*facts, told, range.last);
  answer.properties = facts->properties;
  if (!peer.session->AcceptFetch(event.request, answer).ok()) {
    RefuseUnanswered(peer, event.request);
    return;
  }
  metrics_.fetches.Add();
  const moqt::GroupOrder order =
      event.parameters.group_order.value_or(moqt::GroupOrder::kAscending);
  const std::optional<Duration> patience = PatienceOf(event.parameters);
  FetchCursor cursor(event.track, range, order, patience);
  if (patience != Duration::zero() && !above_->SourcesOf(peer, event.track).empty()) {
    cursor.LetOthersFill();
  }
  const PinOwner owner = ++last_pin_;
  // While it is sent, for some time; if too much is pinned already, it goes without.
  (void)stock_.store()
      .ram()
      .Pin(event.track, range.first.group, range.last.group, owner, now_ + limits_.fetch_pin)
      .ok();
  WarmAfter(event.track, range, order);
  peer.fetches.emplace(event.request,
                       FetchAnswer(*peer.session, event.request, std::move(cursor), owner, now_));
  Continue(peer, event.request);
}

// Whoever reads a track from its beginning, and finds it below, is likely to ask for more of it.
void Relay::WarmAfter(const TrackName& track, const LocationRange& range, moqt::GroupOrder order) {
  Store& store = stock_.store();
  const uint64_t groups =
      std::min<uint64_t>(range.last.group - range.first.group + 1, limits_.warm_groups);
  if (order != moqt::GroupOrder::kAscending || groups == 0 ||
      range.last.group > UINT64_MAX - groups || store.ram().FindGroup(track, range.first.group) ||
      !store.IsBelow(track, range.first.group)) {
    return;
  }
  const LocationRange next = LocationRange::Groups(range.last.group + 1, range.last.group + groups);
  (void)store.Warm(track, next,
                   now_);  // If too much is to be warmed, it comes when it is asked for.
}

}  // namespace kvcast::relay
