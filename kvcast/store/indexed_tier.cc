#include "kvcast/store/indexed_tier.h"

#include <algorithm>
#include <string>

#include "kvcast/base/check.h"

namespace kvcast {
namespace {

Error ToldOtherwise(const std::string& what) {
  return Error(ErrorCode::kMismatch, what + " contradicts what was told before.");
}

}  // namespace

std::optional<TierEvent> IndexedTier::Next() {
  if (next_event_ == events_.size()) {
    events_.clear();
    next_event_ = 0;
    return std::nullopt;
  }
  return std::move(events_[next_event_++]);
}

Result<void> IndexedTier::CheckSame(const TrackName& track, const Object& object) const {
  const auto same = unsettled_.find({track, object.location});
  const auto waiting =
      same == unsettled_.end() ? std::nullopt : std::optional(waiting_.at(same->second).identity);
  return index_->CheckSame(track, object, waiting);
}

Result<TierTicket> IndexedTier::Put(const TrackName& track, const Object& object,
                                    uint64_t received_us, Instant now) {
  KVCAST_TRY_VOID(CheckTakes(now));
  PayOwed(track, now);
  if (index_->PresenceOf(track, object.location) == Presence::kGone) {
    return ToldOtherwise("Object " + object.location.ToString());
  }
  const RecordBody body = StoredObject{object, received_us};
  KVCAST_TRY(RecordDraft draft, RecordDraft::Of({track, body}));
  EntryBody entry = EntryOf(body, draft.payload_sum(), key_property_);
  const uint32_t identity = std::get<ObjectEntry>(entry).identity;
  const auto found = index_->Find(track, object.location);
  const auto same = unsettled_.find({track, object.location});
  Waiting* const waiting = same == unsettled_.end() ? nullptr : &waiting_.at(same->second);
  if ((found && found->identity != identity) ||
      (waiting != nullptr && waiting->identity != identity)) {
    return Error(ErrorCode::kMismatch,
                 "Another object stands at " + object.location.ToString() + ".");
  }
  if (found && IsDurable(found->place)) {
    events_.push_back(TierWritten{++last_ticket_, std::nullopt});
    return last_ticket_;
  }
  if (waiting != nullptr) {
    waiting->tickets.push_back(++last_ticket_);
    return last_ticket_;
  }
  KVCAST_TRY_VOID(CheckFits(track, draft, entry));
  return Write({{}, track, object.location.group, object.location, identity}, std::move(draft),
               std::move(entry), received_us, now);
}

TierTicket IndexedTier::Write(Waiting waiting, RecordDraft draft, EntryBody entry,
                              uint64_t received_us, Instant now) {
  const TierTicket ticket = ++last_ticket_;
  waiting.tickets.push_back(ticket);
  Queue(std::move(waiting), std::move(draft), std::move(entry), received_us, now);
  return ticket;
}

void IndexedTier::Queue(Waiting waiting, RecordDraft draft, EntryBody entry, uint64_t received_us,
                        Instant now) {
  const TrackName track = waiting.track;
  const uint64_t record = Await(std::move(waiting));
  Append(record, track, std::move(draft), std::move(entry), received_us, now);
}

uint64_t IndexedTier::Await(Waiting waiting) {
  const uint64_t record = ++last_record_;
  waiting.record = record;
  if (waiting.location) {
    unsettled_[{waiting.track, *waiting.location}] = record;
  }
  if (const auto about = AboutOf(waiting)) {
    owed_.OnAsked(waiting.track, *about, record);
  }
  waiting_names_.emplace(waiting.track, waiting.group, record);
  waiting_.emplace(record, std::move(waiting));
  return record;
}

std::optional<OwedFacts::About> IndexedTier::AboutOf(const Waiting& waiting) {
  if (waiting.describes) {
    return OwedFacts::About();
  }
  const bool ends_group = waiting.group && !waiting.location;
  return ends_group ? std::optional(OwedFacts::About(waiting.group)) : std::nullopt;
}

Result<TierTicket> IndexedTier::Describe(const TrackName& track, const TrackFacts& facts,
                                         Instant now) {
  KVCAST_TRY_VOID(CheckTakes(now));
  TrackFacts told = facts;
  told.gaps.resize(std::min(told.gaps.size(), kGapsMax));
  // It must be possible to write down all that is known, now and when it is moved.
  KVCAST_TRY(const RecordDraft alone, RecordDraft::Of({track, told}));
  KVCAST_TRY_VOID(CheckFits(track, alone, told));
  const TrackFacts* known = index_->FindTrack(track);
  if (known != nullptr && facts.end &&
      ((known->end && known->end != facts.end) ||
       (known->largest && known->largest >= facts.end))) {
    return ToldOtherwise("The end at " + facts.end->ToString());
  }
  TrackFacts all = known == nullptr ? TrackFacts() : *known;
  all.Add(told);
  all.gaps.resize(std::min(all.gaps.size(), TrackFacts::kGapsMax));
  KVCAST_TRY(RecordDraft draft, RecordDraft::Of({track, all}));
  KVCAST_TRY_VOID(CheckFits(track, draft, all));
  index_->Learn(track, all);
  Waiting waiting{{}, track};
  waiting.describes = true;
  const TierTicket ticket = Write(std::move(waiting), std::move(draft), std::move(all), 0, now);
  PayOwed(track, now);
  return ticket;
}

bool IndexedTier::Covers(const TrackName& track, const TrackFacts& facts) const {
  const TrackFacts* const known = index_->FindTrack(track);
  return known != nullptr && known->Covers(facts) && !owed_.Owes(track, std::nullopt);
}

void IndexedTier::PayOwed(const TrackName& track, Instant now) {
  if (owed_.empty()) {
    return;
  }
  for (const OwedFacts::About& group : owed_.Of(track)) {
    const TrackFacts* const facts = index_->FindTrack(track);
    const auto known = group ? index_->FindGroup(track, *group) : std::nullopt;
    if (facts == nullptr || (group && !(known && known->end))) {
      owed_.Forget(track, group);  // There is nothing left to tell.
      continue;
    }
    const RecordBody body = group ? RecordBody(GroupEnd{*group, *known->end}) : RecordBody(*facts);
    Result<RecordDraft> draft = RecordDraft::Of({track, body});
    EntryBody entry = EntryOf(body, 0, 0);
    if (!draft.ok() || !CheckFits(track, *draft, entry).ok()) {
      continue;
    }
    Waiting waiting{{}, track, group};
    waiting.describes = !group;
    Queue(std::move(waiting), *std::move(draft), std::move(entry), 0, now);
  }
}

void IndexedTier::PayAllOwed(Instant now) {
  if (owed_.empty() || !CheckTakes(now).ok()) {
    return;
  }
  for (const TrackName& track : owed_.Tracks()) {
    if (CheckTakes(now).ok()) {
      PayOwed(track, now);
    }
  }
}

Result<TierTicket> IndexedTier::EndGroup(const TrackName& track, const GroupEnd& end, Instant now) {
  KVCAST_TRY_VOID(CheckTakes(now));
  const auto known = index_->FindGroup(track, end.group);
  if ((known && known->end && *known->end != end.end) ||
      index_->LastObject(track, end.group) >= end.end) {
    return ToldOtherwise("The end of group " + std::to_string(end.group));
  }
  KVCAST_TRY(RecordDraft draft, RecordDraft::Of({track, end}));
  KVCAST_TRY_VOID(CheckFits(track, draft, end));
  index_->LearnGroupEnd(track, end);
  const TierTicket ticket = Write({{}, track, end.group}, std::move(draft), end, 0, now);
  PayOwed(track, now);
  return ticket;
}

Result<TierTicket> IndexedTier::Remove(const TrackName& track, std::optional<uint64_t> group,
                                       Instant now) {
  KVCAST_TRY_VOID(CheckTakes(now));
  const Removal removal{group, {}};
  KVCAST_TRY(RecordDraft draft, RecordDraft::Of({track, removal}));
  KVCAST_TRY_VOID(CheckFits(track, draft, removal));
  for (auto name = waiting_names_.lower_bound({track, group, 0});
       name != waiting_names_.end() && std::get<0>(*name) == track &&
       (!group || std::get<1>(*name) == group);
       ++name) {
    Waiting& waiting = waiting_.at(std::get<2>(*name));
    waiting.removed = true;
    waiting.forgotten = waiting.forgotten || !group;
    if (waiting.location) {
      unsettled_.erase({track, *waiting.location});
    }
  }
  OnRemove(track, group);
  owed_.Forget(track, group);
  if (group) {
    index_->EraseGroup(track, *group, 0);
  } else {
    index_->EraseTrack(track);
  }
  return Write({{}, track}, std::move(draft), removal, 0, now);
}

IndexedTier::Waiting IndexedTier::Take(uint64_t record) {
  const auto found = waiting_.find(record);
  KVCAST_CHECK(found != waiting_.end());
  Waiting waiting = std::move(found->second);
  waiting_.erase(found);
  waiting_names_.erase({waiting.track, waiting.group, record});
  if (waiting.location) {
    const auto name = unsettled_.find({waiting.track, *waiting.location});
    if (name != unsettled_.end() && name->second == record) {
      unsettled_.erase(name);
    }
  }
  return waiting;
}

bool IndexedTier::Expects(const TrackName& track, uint64_t group) const {
  const auto first = unsettled_.lower_bound({track, Location{group, 0}});
  return first != unsettled_.end() && first->first.first == track &&
         first->first.second.group == group;
}

void IndexedTier::Tell(const Waiting& waiting, const std::optional<Error>& error) {
  if (const auto about = AboutOf(waiting)) {
    owed_.OnSettled(waiting.track, *about, waiting.record, !error);
    if (!error && !waiting.removed && HasWritten(waiting.track, *about)) {
      events_.push_back(TierTold{waiting.track, *about});
    }
    // The end of a group of which nothing came to be here is not worth remembering.
    const auto group = *about && error ? index_->FindGroup(waiting.track, **about) : std::nullopt;
    if (group && group->object_count == 0 && !Expects(waiting.track, **about)) {
      owed_.Forget(waiting.track, *about);
      index_->EraseGroup(waiting.track, **about, 0);
    }
  }
  for (const TierTicket ticket : waiting.tickets) {
    events_.push_back(TierWritten{ticket, error});
  }
}

void IndexedTier::LearnOf(const TrackName& track, Location location) {
  TrackFacts told;
  told.largest = location;
  index_->Learn(track, told);
}

}  // namespace kvcast
