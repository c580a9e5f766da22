#include "kvcast/client/value_loading.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "kvcast/base/check.h"
#include "kvcast/kv/cache_track.h"
#include "kvcast/kv/value_piece.h"

namespace kvcast {
namespace {

constexpr size_t kFirstItemPriority = 128;  // What a request has that says nothing.

ValueOutcome OutcomeOf(const moqt::RequestError& error) {
  const bool absent = error.code == moqt::RequestCode::kDoesNotExist ||
                      error.code == moqt::RequestCode::kInvalidRange;
  return absent ? ValueOutcome::kAbsent : ValueOutcome::kRefused;
}

}  // namespace

ValueLoading::ValueLoading(moqt::Session& session, std::vector<ValuePlace> places, Instant deadline)
    : session_(&session), deadline_(deadline), open_(places.size()) {
  items_.reserve(places.size());
  for (const ValuePlace& place : places) {
    KVCAST_CHECK(!place.bytes.empty() && place.bytes.size() <= ValuePiece::kValueBytesMax);
    items_.push_back({place, {}});
  }
}

void ValueLoading::Start(const PrefixIndex& index, const TrackKind& kind) {
  KVCAST_CHECK(!std::exchange(started_, true));
  std::vector<BlockHash> names;
  names.reserve(items_.size());
  for (const Item& item : items_) {
    names.push_back(item.place.name);
  }
  std::map<TrackName, uint32_t> numbers;
  const PrefixMatch match = index.LongestMatch(names);
  for (size_t i = 0; i < items_.size() && !over(); ++i) {
    for (const BlockSource& source :
         match.Has(i) ? index.Sources(match, i) : std::vector<BlockSource>()) {
      if (items_[i].sources.size() == kSourcesMax) {
        break;
      }
      if (!kind.Includes(source.track)) {
        continue;
      }
      const auto found = numbers.emplace(source.track, static_cast<uint32_t>(tracks_.size()));
      if (found.second) {
        tracks_.push_back(source.track);
      }
      const uint32_t number = found.first->second;
      const bool known = std::ranges::any_of(items_[i].sources, [&](const Source& other) {
        return other.track == number;  // Another node holds the same track.
      });
      if (!known) {
        items_[i].sources.push_back({number, source.group, source.bytes});
      }
    }
    if (items_[i].outcome == ValueOutcome::kPending) {
      Wait(i);
    }
  }
  StartFetches();
}

void ValueLoading::Wait(size_t item) {
  if (items_[item].sources.empty()) {
    End(item, items_[item].fault);
    return;
  }
  waiting_.insert(item);
  for (const Source& source : items_[item].sources) {
    offers_.emplace(source.track, source.group, item);
  }
}

void ValueLoading::StopWaiting(size_t item) {
  waiting_.erase(item);
  for (const Source& source : items_[item].sources) {
    offers_.erase({source.track, source.group, item});
  }
}

void ValueLoading::End(size_t item, ValueOutcome outcome) {
  if (items_[item].outcome == ValueOutcome::kPending) {
    items_[item].outcome = outcome;
    --open_;
  }
}

// What is waited for and lies behind it in the same track, as far as that goes.
ValueLoading::Run ValueLoading::RunFrom(size_t item, const Source& source) const {
  Run run{source.track, source.group, source.bytes, {item}};
  for (uint64_t group = source.group + 1; run.bytes < kRunBytesMax; ++group) {
    const auto next = offers_.lower_bound({source.track, group, 0});
    if (next == offers_.end() || std::get<0>(*next) != source.track ||
        std::get<1>(*next) != group) {
      break;
    }
    const size_t follower = std::get<2>(*next);
    if (std::ranges::find(run.items, follower) != run.items.end()) {
      break;  // Said to be twice in one track.
    }
    const auto its = std::ranges::find_if(items_[follower].sources, [&](const Source& other) {
      return other.track == source.track && other.group == group;
    });
    run.bytes += its->bytes;
    run.items.push_back(follower);
  }
  return run;
}

void ValueLoading::StartFetches() {
  while (!waiting_.empty() && fetches_.size() < kFetchesMax) {
    const size_t item = *waiting_.begin();
    Run furthest;
    for (const Source& source : items_[item].sources) {
      Run run = RunFrom(item, source);
      if (run.items.size() > furthest.items.size()) {
        furthest = std::move(run);
      }
    }
    if (!Ask(std::move(furthest))) {
      return;
    }
  }
}

bool ValueLoading::Ask(Run run) {
  moqt::Parameters parameters;
  // Engines name first what they need first.
  parameters.subscriber_priority =
      static_cast<uint8_t>(std::min<size_t>(kFirstItemPriority + run.items.front(), UINT8_MAX));
  const Result<moqt::RequestId> fetch = session_->Fetch(
      tracks_[run.track],
      LocationRange::Groups(run.first_group, run.first_group + run.items.size() - 1), parameters);
  if (!fetch.ok()) {
    if (fetch.error().code() == ErrorCode::kTooLarge && !fetches_.empty()) {
      return false;  // Later, when one of these is over.
    }
    EndAll(fetch.error().code() == ErrorCode::kTooLarge ? ValueOutcome::kRefused
                                                        : ValueOutcome::kNodeLost);
    return false;
  }
  for (const size_t item : run.items) {
    StopWaiting(item);
  }
  fetches_.emplace(*fetch, std::move(run));
  return true;
}

void ValueLoading::OnEvent(const moqt::Event& event) {
  if (const auto* ready = std::get_if<moqt::ObjectsReady>(&event)) {
    Take(ready->request);
  } else if (const auto* refused = std::get_if<moqt::RequestRefused>(&event)) {
    if (const auto found = fetches_.find(refused->request); found != fetches_.end()) {
      EndFetch(found, OutcomeOf(refused->error), /*cancel=*/false);
    }
  } else if (const auto* cancelled = std::get_if<moqt::RequestCancelled>(&event)) {
    Take(cancelled->request);
    if (const auto found = fetches_.find(cancelled->request); found != fetches_.end()) {
      EndFetch(found, ValueOutcome::kAbsent, /*cancel=*/true);
    }
  }
  StartFetches();
}

void ValueLoading::Take(moqt::RequestId request) {
  while (true) {
    const auto found = fetches_.find(request);
    std::optional<moqt::Received> item;
    if (found == fetches_.end() || !(item = session_->Take(request))) {
      return;
    }
    Run& run = found->second;
    if (const auto* object = std::get_if<moqt::ReceivedObject>(&*item)) {
      OnObject(run, object->object);
    } else if (const auto* range = std::get_if<moqt::RangeEnd>(&*item)) {
      Advance(run, range->last.group);
      // Of the group that it ends in, what is before its end is not there.
      if (run.at < run.items.size() && range->last.group == run.first_group + run.at &&
          range->last.object >= run.next_object) {
        run.spoilt = true;
      }
    } else if (std::holds_alternative<moqt::FetchEnd>(*item)) {
      EndFetch(found, ValueOutcome::kAbsent, /*cancel=*/false);
      return;
    }
    if (run.at == run.items.size()) {  // What else the node sends is its affair.
      EndFetch(found, ValueOutcome::kAbsent, /*cancel=*/true);
      return;
    }
  }
}

void ValueLoading::OnObject(Run& run, const Object& object) {
  Advance(run, object.location.group);
  if (run.at == run.items.size() || object.location.group != run.first_group + run.at ||
      run.spoilt) {
    return;
  }
  Item& item = items_[run.items[run.at]];
  const uint32_t count = ValuePiece::CountOf(item.place.bytes.size());
  if (object.location.object != run.next_object) {
    run.spoilt = true;  // Some of it is missing.
    return;
  }
  if (run.next_object == 0) {
    // A catalog is only a hint: what the value's publisher wrote beside it decides.
    const Result<std::optional<BlockHash>> key = BlockHashIn(object.properties);
    if (!key.ok() || !*key || **key != item.place.name) {
      run.spoilt = true;
      item.fault = ValueOutcome::kDamaged;
      return;
    }
  }
  const Result<void> taken =
      ValuePiece::Take(item.place.name, object.payload, run.next_object, item.place.bytes);
  if (!taken.ok()) {
    run.spoilt = true;
    item.fault = taken.error().code() == ErrorCode::kTooLarge ? ValueOutcome::kOtherSize
                                                              : ValueOutcome::kDamaged;
    return;
  }
  if (++run.next_object == count) {
    End(run.items[run.at], ValueOutcome::kLoaded);
    Close(run);
  }
}

void ValueLoading::Advance(Run& run, uint64_t group) {
  while (run.at < run.items.size() && run.first_group + run.at < group) {
    Close(run);
  }
}

void ValueLoading::Close(Run& run) {
  const size_t item = run.items[run.at++];
  run.next_object = 0;
  run.spoilt = false;
  Lose(item, run.track, items_[item].fault);
}

void ValueLoading::Lose(size_t item, uint32_t track, ValueOutcome fault) {
  if (items_[item].outcome != ValueOutcome::kPending) {
    return;
  }
  // That it came damaged is worth knowing, whatever the others said.
  if (items_[item].fault == ValueOutcome::kAbsent) {
    items_[item].fault = fault;
  }
  std::erase_if(items_[item].sources, [&](const Source& source) { return source.track == track; });
  Wait(item);
}

void ValueLoading::EndFetch(Fetches::iterator fetch, ValueOutcome rest, bool cancel) {
  const auto [request, run] = *fetch;
  fetches_.erase(fetch);
  if (cancel) {
    session_->Cancel(request, moqt::ResetCode::kCancelled);
  }
  for (size_t i = run.at; i < run.items.size(); ++i) {
    Lose(run.items[i], run.track, rest);
  }
}

void ValueLoading::EndAll(ValueOutcome outcome) {
  for (size_t i = 0; i < items_.size(); ++i) {
    End(i, outcome);
  }
  waiting_.clear();
  offers_.clear();
  for (const auto& [request, run] : std::exchange(fetches_, {})) {
    session_->Cancel(request, moqt::ResetCode::kCancelled);
  }
}

void ValueLoading::OnTimeout(Instant now) {
  if (now >= deadline_) {
    EndAll(ValueOutcome::kTooLate);
  }
}

std::optional<Instant> ValueLoading::deadline() const {
  return over() || deadline_ == Instant::max() ? std::nullopt : std::optional(deadline_);
}

std::vector<ValueOutcome> ValueLoading::Outcomes() const {
  std::vector<ValueOutcome> outcomes;
  outcomes.reserve(items_.size());
  for (const Item& item : items_) {
    outcomes.push_back(item.outcome);
  }
  return outcomes;
}

}  // namespace kvcast
