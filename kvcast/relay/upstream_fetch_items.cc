// What comes of what was fetched upstream, item by item.
#include <algorithm>
#include <utility>

#include "kvcast/relay/publication.h"
#include "kvcast/relay/upstream_fetches.h"

namespace kvcast::relay {
bool UpstreamFetches::TakeOne(Instant now) {
  while (!ready_.empty()) {
    const FetchId id = *ready_.begin();
    Fetch& fetch = fetches_.at(id);
    moqt::Session* const session = session_of_(fetch.peer);
    // Where it ends is to be known before what it brings can be said to be all.
    if (!fetch.answer || session == nullptr) {
      ready_.erase(id);
      continue;
    }
    if (std::exchange(fetch.goes_beyond, false)) {
      OnUnknown(id, now);
      return true;
    }
    if (fetch.ahead_bytes >= limits_->upstream_ahead_bytes) {
      fetch.paused = true;
      ready_.erase(id);
      continue;
    }
    const std::optional<moqt::Received> item = session->Take(fetch.request);
    if (!item) {
      ready_.erase(id);
      continue;
    }
    fetch.silent_until = now + limits_->upstream_patience;
    touched_.insert(fetch.peer);  // It has room for more.
    Result<void> taken;
    if (const auto* object = std::get_if<moqt::ReceivedObject>(&*item)) {
      taken = TakeObject(fetch, object->object, now);
    } else if (const auto* range = std::get_if<moqt::RangeEnd>(&*item)) {
      if (fetch.progress.IsToCome(range->last)) {
        std::vector<LocationRange> gaps = fetch.progress.Pass(range->last);
        gaps.push_back({range->last, range->last});
        if (range->unknown) {
          OnUnknown(id, now);
        } else {
          taken = TakeGaps(fetch.track, gaps, now);
          TellPassed(fetch, nullptr);
        }
      }
    } else if (const auto* end = std::get_if<moqt::FetchEnd>(&*item)) {
      OnEnd(id, *end, now);
    }
    if (!taken.ok()) {
      Contradict(id, taken.error());
    }
    return true;
  }
  return false;
}

Result<void> UpstreamFetches::TakeObject(Fetch& fetch, const Object& object, Instant now) {
  const Location at = object.location;
  if (!fetch.progress.IsToCome(at)) {
    return Error(ErrorCode::kMismatch, "Object " + at.ToString() + " comes out of order.");
  }
  metrics_->upstream.objects.Add();
  metrics_->upstream.bytes.Add(object.payload.size());
  const std::vector<LocationRange> gaps = fetch.progress.Pass(at);
  for (const LocationRange& gap : gaps) {
    KVCAST_TRY_VOID(stock_->CheckGap(fetch.track, gap));
  }
  const Publication kept_as(fetch.track, fetch.answer->properties);
  const Result<bool> kept =
      stock_->Keep(fetch.track, object, Durability::kMemory, now, {now, kept_as.ExpiryFrom(now)});
  // Where there is no room, those who wait get it all the same.
  if (!kept.ok() && kept.error().code() == ErrorCode::kMismatch) {
    return kept.error();
  }
  // What the object says itself is known by now.
  KVCAST_TRY_VOID(TakeGaps(fetch.track, gaps, now));
  if (kept.ok() && *kept) {
    outcomes_.push_back(Kept{fetch.track, at});
  }
  TellPassed(fetch, &object);
  // It is not ahead of anybody while somebody waits for what is yet to come.
  const bool awaited = std::ranges::any_of(fetch.askers, [&](const SubscriberId& id) {
    const Asker& asker = askers_.at(id);
    return asker.waits_for && fetch.progress.IsToCome(BeginOf(*asker.waits_for, asker.order));
  });
  if (!awaited) {
    fetch.ahead.emplace_back(at, object.payload.size());
    fetch.ahead_bytes += object.payload.size();
  }
  return {};
}

Result<void> UpstreamFetches::TakeGaps(const TrackName& track,
                                       const std::vector<LocationRange>& gaps, Instant now) {
  for (const LocationRange& gap : gaps) {
    KVCAST_TRY_VOID(TakeGap(track, gap, now));
  }
  return {};
}

// What is left out behind the last object of a group is its end; the rest are gaps as publishers
// tell them.
Result<void> UpstreamFetches::TakeGap(const TrackName& track, const LocationRange& gap,
                                      Instant now) {
  KVCAST_TRY_VOID(stock_->CheckGap(track, gap));
  if (stock_->store().IsGone(track, gap)) {
    return {};
  }
  LocationRange rest = gap;
  const bool to_the_end =
      gap.last.group > gap.first.group || gap.last.object == LocationRange::kWholeGroup;
  const std::optional<uint64_t> end = to_the_end ? EndBefore(track, gap.first) : std::nullopt;
  if (end) {
    // No room: then nobody knows.
    (void)stock_->EndGroup(track, gap.first.group, *end, Durability::kMemory, now).ok();
    if (gap.first.group == gap.last.group) {
      return {};
    }
    rest.first = {gap.first.group + 1, 0};
  }
  stock_->AddGap(track, rest, Durability::kMemory, now);
  return {};
}

// Where a group ends of which nothing exists from there on: behind the last object, past gaps that
// were told. Absent if that object is not here: the group's publisher may say another end.
std::optional<uint64_t> UpstreamFetches::EndBefore(const TrackName& track, Location from) {
  const std::optional<TrackFacts> facts = stock_->Find(track);
  while (from.object > 0) {
    const Location before{from.group, from.object - 1};
    const LocationRange* const gap = facts ? facts->GapAt(before) : nullptr;
    if (gap == nullptr) {
      return stock_->store().PresenceOf(track, before) == Presence::kExists
                 ? std::optional(from.object)
                 : std::nullopt;
    }
    from.object = gap->first.group < from.group ? 0 : gap->first.object;
  }
  return std::nullopt;
}

void UpstreamFetches::OnEnd(FetchId id, const moqt::FetchEnd& end, Instant now) {
  if (!end.complete) {
    Fail(id, UpstreamTrial::Outcome::kBrokenOff, now);
    return;
  }
  Fetch& fetch = fetches_.at(id);
  const Result<void> taken = TakeGaps(fetch.track, fetch.progress.Finish(), now);
  if (!taken.ok()) {
    Contradict(id, taken.error());
    return;
  }
  const moqt::FetchOk& answer = *fetch.answer;
  const std::optional<TrackFacts> facts = stock_->Find(fetch.track);
  if (answer.end_of_track && facts && facts->largest == answer.last && !facts->end) {
    (void)stock_
        ->EndGroup(fetch.track, answer.last.group, answer.last.object + 1, Durability::kMemory, now)
        .ok();
    (void)stock_->EndTrack(fetch.track, After(answer.last), now).ok();
  }
  TellPassed(fetch, nullptr);
  for (const SubscriberId& asker : std::set<SubscriberId>(fetch.askers)) {
    Dismiss(asker, id);  // Who does not wait for it at the moment finds it in the store.
  }
  Erase(id);
}

void UpstreamFetches::TellPassed(Fetch& fetch, const Object* object) {
  for (const SubscriberId& id : fetch.askers) {
    Asker& asker = askers_.at(id);
    if (!asker.waits_for) {
      continue;
    }
    const LocationRange range = *asker.waits_for;
    if (fetch.progress.IsToCome(BeginOf(range, asker.order))) {
      continue;
    }
    const Location through = fetch.progress.PassedOf(range, asker.order);
    asker.waits_for.reset();
    // Not where some of what lies before the object was never asked for here.
    if (object != nullptr && object->location == through && range.Contains(through)) {
      outcomes_.push_back(Came{id, *object});
    } else {
      outcomes_.push_back(Settled{id, through, true, {}});
    }
  }
}

}  // namespace kvcast::relay
