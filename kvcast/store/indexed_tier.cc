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
  const uint64_t record = ++last_record_;
  const TrackName track = waiting.track;
  waiting.tickets.push_back(ticket);
  if (waiting.location) {
    unsettled_[{track, *waiting.location}] = record;
  }
  waiting_.emplace(record, std::move(waiting));
  Append(record, track, std::move(draft), std::move(entry), received_us, now);
  return ticket;
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
  index_->Learn(track, told);
  const RecordBody body = *index_->FindTrack(track);
  KVCAST_TRY(RecordDraft draft, RecordDraft::Of({track, body}));
  KVCAST_TRY_VOID(CheckFits(track, draft, EntryOf(body, 0, 0)));
  return Write({{}, track}, std::move(draft), EntryOf(body, 0, 0), 0, now);
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
  return Write({{}, track, end.group}, std::move(draft), end, 0, now);
}

Result<TierTicket> IndexedTier::Remove(const TrackName& track, std::optional<uint64_t> group,
                                       Instant now) {
  KVCAST_TRY_VOID(CheckTakes(now));
  const Removal removal{group, {}};
  KVCAST_TRY(RecordDraft draft, RecordDraft::Of({track, removal}));
  KVCAST_TRY_VOID(CheckFits(track, draft, removal));
  for (auto& [record, waiting] : waiting_) {
    if (waiting.track == track && (!group || waiting.group == *group)) {
      waiting.removed = true;
      waiting.forgotten = waiting.forgotten || !group;
      if (waiting.location) {
        unsettled_.erase({track, *waiting.location});
      }
    }
  }
  OnRemove(track, group);
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
  if (waiting.location) {
    const auto name = unsettled_.find({waiting.track, *waiting.location});
    if (name != unsettled_.end() && name->second == record) {
      unsettled_.erase(name);
    }
  }
  return waiting;
}

void IndexedTier::Tell(const Waiting& waiting, const std::optional<Error>& error) {
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
