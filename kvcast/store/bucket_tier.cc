#include "kvcast/store/bucket_tier.h"

#include <algorithm>

#include "kvcast/base/check.h"

namespace kvcast {

BucketTier::BucketTier(const BucketTierOptions& options, Log log)
    : options_(options),
      logger_(std::move(log)),
      calls_(Scatter(options.seed)),
      queue_({.prefix = options.prefix,
              .pack_bytes = options.pack_bytes,
              .linger = options.linger,
              .patience = options.upload_patience,
              .uploads_max = options.uploads_max,
              .bytes_max = options.bytes_max},
             Scatter(options.seed + 1), table_) {
  KVCAST_CHECK(options_.bytes_max == 0 || options_.bytes_max >= options_.LeastBytes());
  KVCAST_CHECK(options_.pack_bytes >= kPackBytesMin && options_.pack_bytes <= kPackBytesMax / 2);
  table_.node = options_.node;
  Random(Scatter(options_.seed + 2))
      .Fill(std::span(table_.node.bytes).subspan(kPackNodeStableBytes));
}

std::vector<BucketRequest> BucketTier::TakeRequests(Instant now) {
  Pump(now);
  return state_ == State::kRefused ? std::vector<BucketRequest>() : calls_.TakeRequests(now);
}

void BucketTier::OnCompletion(BucketCompletion completion, Instant now) {
  calls_.OnCompletion(std::move(completion), now);
  Pump(now);
}

void BucketTier::OnTime(Instant now) { Pump(now); }

void BucketTier::Flush(Instant now) {
  queue_.Close(now);
  Pump(now);
}

void BucketTier::Pump(Instant now) {
  if (state_ == State::kRefused) {
    return;
  }
  calls_.OnTime(now);
  reads_.OnTime(now);
  if (!survey_ && (state_ == State::kOpening || next_survey_) &&
      (!next_survey_ || now >= *next_survey_)) {
    StartSurvey(now);
  }
  for (const BucketCalls::Ended& ended : calls_.TakeEnded()) {
    (void)(reads_.OnEnded(ended, table_) || queue_.OnEnded(ended) || OnLeaving(ended, now) ||
           OnTakenBack(ended, now) || (survey_ && survey_->OnEnded(ended, now)));
  }
  if (survey_) {
    OnSurveyed(now);
  }
  if (state_ != State::kReady) {
    return;
  }
  SettlePacks(now);
  TakeAnswers();
  reads_.Start(table_, calls_, now);
  queue_.Pump(calls_, now);
  SettlePacks(now);
  StartLeaving(now);
  DeleteIfNoted(now);
  if (away() != was_away_) {
    was_away_ = away();
    if (was_away_) {
      logger_.Warning("bucket left alone", {{"reason", trouble()}});
    } else {
      logger_.Info("bucket back");
    }
  }
}

std::optional<Instant> BucketTier::deadline() const {
  if (state_ == State::kRefused) {
    return std::nullopt;
  }
  std::optional<Instant> first;
  const auto take = [&](std::optional<Instant> other) {
    first = other && (!first || *other < *first) ? other : first;
  };
  take(calls_.deadline());
  take(reads_.deadline());
  take(queue_.deadline());
  if (!survey_) {
    take(state_ == State::kOpening ? next_survey_.value_or(Instant()) : next_survey_);
  }
  if (queue_.wants_room() && !leaving_ && leave_again_ != Instant()) {
    take(leave_again_);
  }
  return first;
}

std::optional<TierEvent> BucketTier::Next() {
  if (next_event_ == events_.size()) {
    events_.clear();
    next_event_ = 0;
    return std::nullopt;
  }
  return std::move(events_[next_event_++]);
}

Result<void> BucketTier::CheckTakes() const {
  if (state_ == State::kRefused) {
    return *refusal_;
  }
  if (state_ != State::kReady) {
    return Error(ErrorCode::kMachine, "The bucket has not been read yet." +
                                          (trouble().empty() ? "" : " It said: " + trouble()));
  }
  if (queue_.queued_bytes() >= options_.queue_bytes_max) {
    return Error(ErrorCode::kTooLarge, "The bucket does not keep up: too many bytes wait for it." +
                                           (away() ? " It said: " + trouble() : std::string()));
  }
  if (index_bytes() >= options_.index_bytes_max || table_.packs.size() >= options_.packs_max) {
    return Error(ErrorCode::kTooLarge, "The index of the bucket has no room.");
  }
  if (table_.last_own >= kPackNumberMax - options_.packs_max) {
    return Error(ErrorCode::kMachine, "The node has used up its numbers of packs.");
  }
  return {};
}

Result<void> BucketTier::CheckAgainstEnds(const TrackName& track, Location location) const {
  if (index_->PresenceOf(track, location) == Presence::kGone) {
    return Error(ErrorCode::kMismatch,
                 "Object " + location.ToString() + " contradicts what the track has said before.");
  }
  return {};
}

Result<void> BucketTier::CheckSame(const TrackName& track, const Object& object) const {
  const auto same = unsettled_.find({track, object.location});
  const auto waiting =
      same == unsettled_.end() ? std::nullopt : std::optional(waiting_.at(same->second).identity);
  return index_->CheckSame(track, object, waiting);
}

Result<TierTicket> BucketTier::Put(const TrackName& track, const Object& object,
                                   uint64_t received_us, Instant now) {
  KVCAST_TRY_VOID(CheckTakes());
  KVCAST_TRY_VOID(CheckAgainstEnds(track, object.location));
  const RecordBody body = StoredObject{object, received_us};
  KVCAST_TRY(const RecordDraft draft, RecordDraft::Of({track, body}));
  EntryBody entry = EntryOf(body, draft.payload_sum(), options_.key_property);
  const uint32_t identity = std::get<ObjectEntry>(entry).identity;
  const Error mismatch(ErrorCode::kMismatch,
                       "Another object stands at " + object.location.ToString() + ".");
  if (const auto found = index_->Find(track, object.location)) {
    if (found->identity != identity) {
      return mismatch;
    }
    // Of what this start has put, it knows every removal that it made since. What it found may have
    // been removed by a pack that no listing has shown: only a pack of its own is out of its reach.
    const Pack* pack = table_.Find(found->place.segment);
    if (pack != nullptr && !pack->leaving && pack->id.node == table_.node) {
      events_.push_back(TierWritten{++last_ticket_, std::nullopt});
      return last_ticket_;
    }
  }
  if (const auto same = unsettled_.find({track, object.location}); same != unsettled_.end()) {
    Waiting& waiting = waiting_.at(same->second);
    if (waiting.identity != identity) {
      return mismatch;
    }
    waiting.tickets.push_back(++last_ticket_);
    return last_ticket_;
  }
  KVCAST_TRY_VOID(queue_.CheckFits(track, draft, entry));
  const TierTicket ticket = Write(track, draft, std::move(entry), received_us, now);
  Waiting& waiting = waiting_.at(last_record_);
  waiting.group = object.location.group;
  waiting.location = object.location;
  waiting.identity = identity;
  unsettled_[{track, object.location}] = last_record_;
  return ticket;
}

TierTicket BucketTier::Write(const TrackName& track, const RecordDraft& draft, EntryBody entry,
                             uint64_t received_us, Instant now) {
  waiting_.emplace(++last_record_, Waiting{{++last_ticket_}, track, {}, {}, 0, false, false});
  queue_.Append(last_record_, track, draft, std::move(entry), received_us, now);
  return last_ticket_;
}

Result<TierTicket> BucketTier::Describe(const TrackName& track, const TrackFacts& facts,
                                        Instant now) {
  KVCAST_TRY_VOID(CheckTakes());
  TrackFacts told = facts;
  told.gaps.resize(std::min(told.gaps.size(), kGapsMax));
  // It must be possible to write down all that is known, now and when a pack goes.
  KVCAST_TRY(const RecordDraft alone, RecordDraft::Of({track, told}));
  KVCAST_TRY_VOID(queue_.CheckFits(track, alone, told));
  const TrackFacts* known = index_->FindTrack(track);
  if (known != nullptr && facts.end &&
      ((known->end && known->end != facts.end) ||
       (known->largest && known->largest >= facts.end))) {
    return Error(ErrorCode::kMismatch,
                 "The end at " + facts.end->ToString() + " contradicts what was told before.");
  }
  index_->Learn(track, told);
  const RecordBody body = *index_->FindTrack(track);
  KVCAST_TRY(const RecordDraft draft, RecordDraft::Of({track, body}));
  KVCAST_TRY_VOID(queue_.CheckFits(track, draft, EntryOf(body, 0, 0)));
  return Write(track, draft, EntryOf(body, 0, 0), 0, now);
}

Result<TierTicket> BucketTier::EndGroup(const TrackName& track, const GroupEnd& end, Instant now) {
  KVCAST_TRY_VOID(CheckTakes());
  const auto known = index_->FindGroup(track, end.group);
  if ((known && known->end && *known->end != end.end) ||
      index_->LastObject(track, end.group) >= end.end) {
    return Error(ErrorCode::kMismatch, "The end of group " + std::to_string(end.group) +
                                           " contradicts what was told before.");
  }
  KVCAST_TRY(const RecordDraft draft, RecordDraft::Of({track, end}));
  KVCAST_TRY_VOID(queue_.CheckFits(track, draft, end));
  index_->LearnGroupEnd(track, end);
  const TierTicket ticket = Write(track, draft, end, 0, now);
  waiting_.at(last_record_).group = end.group;
  return ticket;
}

Result<TierTicket> BucketTier::Remove(const TrackName& track, std::optional<uint64_t> group,
                                      Instant now) {
  KVCAST_TRY_VOID(CheckTakes());
  const Removal removal{group, {}};
  KVCAST_TRY(const RecordDraft draft, RecordDraft::Of({track, removal}));
  KVCAST_TRY_VOID(queue_.CheckFits(track, draft, removal));
  for (auto& [record, waiting] : waiting_) {
    if (waiting.track == track && (!group || waiting.group == *group)) {
      waiting.removed = true;
      waiting.forgotten = waiting.forgotten || !group;
      if (waiting.location) {
        unsettled_.erase({track, *waiting.location});
      }
    }
  }
  copies_.Forget(track, group);
  if (group) {
    index_->EraseGroup(track, *group, 0);
  } else {
    index_->EraseTrack(track);
  }
  return Write(track, draft, removal, 0, now);
}

std::optional<TierTicket> BucketTier::Get(const TrackName& track, Location location, Instant now) {
  if (state_ != State::kReady || reads_.bytes() >= options_.read_bytes_max) {
    return std::nullopt;
  }
  const auto found = index_->Use(track, location);
  if (!found) {
    return std::nullopt;
  }
  if (calls_.breaker().Refuses(now)) {
    events_.push_back(TierRead{++last_ticket_, std::nullopt});
    return last_ticket_;
  }
  reads_.Ask({++last_ticket_, track, location, *found, now + options_.get_patience});
  return last_ticket_;
}

void BucketTier::TakeAnswers() {
  for (BucketReads::Answer& answer : reads_.TakeAnswers()) {
    using Fault = BucketReads::Answer::Fault;
    const BucketReads::Reading& reading = answer.reading;
    counts_.late += answer.fault == Fault::kLate ? 1 : 0;
    counts_.read_errors += answer.fault == Fault::kFailed ? 1 : 0;
    if (answer.fault == Fault::kDamaged) {
      ++counts_.damaged;
      const DiskPlace damaged = reading.found.place;
      copies_.Shelter(
          reading.track, reading.location.group, [&](DiskPlace place) { return place == damaged; },
          *index_);
      index_->Erase(reading.track, reading.location, damaged);
      if (!index_->Find(reading.track, reading.location)) {
        events_.push_back(TierEvicted{{reading.track, reading.location.group}});
      }
      const Pack* pack = table_.Find(reading.found.place.segment);
      logger_.Warning("record damaged", {{"pack", pack != nullptr ? pack->key : "gone"},
                                         {"offset", reading.found.place.offset}});
    } else if (answer.fault == Fault::kGone) {
      const Pack* pack = table_.Find(reading.found.place.segment);
      if (pack != nullptr && !pack->leaving) {
        ++counts_.packs_gone;
        DropPack(reading.found.place.segment);
      }
    }
    events_.push_back(TierRead{reading.ticket, std::move(answer.found)});
  }
}

bool BucketTier::idle() const {
  return state_ != State::kOpening && !survey_ && !leaving_ && taken_back_.empty() &&
         reads_.idle() && queue_.idle() && waiting_.empty();
}

BucketTierCounts BucketTier::counts() const {
  BucketTierCounts counts = counts_;
  counts.requests = calls_.counts().requests;
  counts.retries = calls_.counts().retries;
  counts.failures = calls_.counts().failures;
  counts.breaker_opened = calls_.breaker().opened_count();
  return counts;
}

}  // namespace kvcast
