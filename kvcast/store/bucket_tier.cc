#include "kvcast/store/bucket_tier.h"

#include <algorithm>
#include <utility>

#include "kvcast/base/check.h"

namespace kvcast {
namespace {

// Of the index, what is left to puts when packs are read.
constexpr size_t kPutsShare = 8;

}  // namespace

// A pack goes as a whole, so that up to one more than is reserved may have to stay.
uint64_t BucketTierOptions::LeastBytes() const {
  uint64_t least = 4 * pack_bytes;
  for (const auto& [tenant, reserved] : reservations) {
    const uint64_t more = reserved + std::min(pack_bytes, UINT64_MAX - reserved);
    least += std::min(more, UINT64_MAX - least);
  }
  return least;
}

BucketTier::BucketTier(const BucketTierOptions& options, Log log)
    : IndexedTier(options.key_property),
      options_(options),
      logger_(std::move(log)),
      calls_(Scatter(options.seed)),
      pools_(options.reservations),
      queue_({.prefix = options.prefix,
              .pack_bytes = options.pack_bytes,
              .enough_bytes = std::min(options.enough_bytes, options.pack_bytes),
              .linger = options.linger,
              .patience = options.upload_patience,
              .uploads_max = options.uploads_max,
              .bytes_max = options.bytes_max},
             Scatter(options.seed + 1), table_, pools_) {
  KVCAST_CHECK(options_.bytes_max == 0 || options_.bytes_max >= options_.LeastBytes());
  KVCAST_CHECK(options_.pack_bytes >= kPackBytesMin && options_.pack_bytes <= kPackBytesMax / 2);
  KVCAST_CHECK(options_.share.index < options_.share.count);
  table_.share = options_.share;
  table_.node = options_.node;
  Random(Scatter(options_.seed + 2))
      .Fill(std::span(table_.node.bytes).subspan(kPackNodeStableBytes));
}

std::vector<BucketRequest> BucketTier::TakeRequests(Instant now) {
  Pump(now);
  return state_ == State::kRefused ? std::vector<BucketRequest>() : calls_.TakeRequests(now);
}

void BucketTier::OnCompletion(BucketCompletion completion, Instant now) {
  counts_.bytes_read += completion.bytes.size();
  calls_.OnCompletion(std::move(completion), now);
  Pump(now);
}

void BucketTier::OnTime(Instant now) { Pump(now); }

void BucketTier::Flush(Instant now) {
  PayAllOwed(now);
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
           OnTakenBack(ended, now) || OnLooked(ended, now) || OnMerging(ended) ||
           absences_.OnEnded(ended, table_) || (survey_ && survey_->OnEnded(ended, now)));
  }
  if (survey_) {
    OnSurveyed(now);
  }
  if (state_ != State::kReady) {
    return;
  }
  SettlePacks(now);
  TakeAnswers(now);
  for (const uint32_t segment : absences_.TakeGone()) {
    OnGone(segment);
  }
  absences_.Start(table_, calls_, now);
  StartLooks(now);
  reads_.Start(table_, calls_, now);
  queue_.Pump(calls_, now);
  SettlePacks(now);
  KeepMerging(now);
  StartLeaving(now);
  DeleteIfNoted(now);
  if (index_bytes() >= options_.index_bytes_max) {
    ForgetOldest();
  }
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
  if (MayLook()) {
    take(doubts_.deadline());
  }
  if (!survey_) {
    take(state_ == State::kOpening ? next_survey_.value_or(Instant()) : next_survey_);
  }
  if (queue_.wants_room() && !leaving_ && leave_again_ != Instant()) {
    take(leave_again_);
  }
  if (!merge_) {
    take(merge_at_);
  } else if (!leaving_) {
    take(merge_->leave_at);
  }
  return first;
}

Result<void> BucketTier::CheckTakes(Instant /*now*/) const {
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

Result<void> BucketTier::CheckFits(const TrackName& track, const RecordDraft& draft,
                                   const EntryBody& entry) const {
  return queue_.CheckFits(track, draft, entry);
}

// Of what this start has put, it knows every removal that it made since. What it found may have
// been removed by a pack that no listing has shown: only a pack of its own is out of its reach.
// And one that a listing should have shown may have been deleted.
bool BucketTier::IsDurable(DiskPlace place) const {
  const Pack* pack = table_.Find(place.segment);
  const bool doubtful = doubts_.full() || doubts_.Has(place);
  return pack != nullptr && !pack->leaving && pack->missed == 0 && pack->id.node == table_.node &&
         !doubtful;
}

void BucketTier::Append(uint64_t record, const TrackName& track, RecordDraft draft, EntryBody entry,
                        uint64_t received_us, Instant now) {
  queue_.Append(record, track, draft, std::move(entry), received_us, now);
}

void BucketTier::OnRemove(const TrackName& track, std::optional<uint64_t> group) {
  copies_.Forget(track, group);
  doubts_.Forget(track, group);
}

std::optional<TierTicket> BucketTier::Get(const TrackName& track, Location location, Instant now) {
  const uint64_t merging_bytes = merge_ ? merge_->bytes() : 0;
  if (state_ != State::kReady || reads_.bytes() + merging_bytes >= options_.read_bytes_max) {
    return std::nullopt;
  }
  const auto found = index_->Use(track, location);
  if (!found) {
    return std::nullopt;
  }
  if (calls_.breaker().Refuses(now) || doubts_.Has(found->place)) {
    events_.push_back(TierRead{++last_ticket_, std::nullopt});
    return last_ticket_;
  }
  reads_.Ask({++last_ticket_, track, location, *found, now + options_.get_patience});
  return last_ticket_;
}

void BucketTier::TakeAnswers(Instant now) {
  for (BucketReads::Answer& answer : reads_.TakeAnswers()) {
    using Fault = BucketReads::Answer::Fault;
    const BucketReads::Reading& reading = answer.reading;
    const bool is_look = record_looks_.erase(reading.ticket) > 0;
    counts_.late += answer.fault == Fault::kLate && !is_look ? 1 : 0;
    counts_.read_errors += answer.fault == Fault::kFailed && !is_look ? 1 : 0;
    if (answer.fault == Fault::kNone) {
      doubts_.Lift(reading.found.place);
      if (is_look) {
        TakeIn(reading, *answer.found);
      }
    } else if (answer.fault == Fault::kDamaged) {
      OnDamagedRecord(reading, is_look, now);
    } else if (answer.fault == Fault::kGone) {
      OnGone(reading.found.place.segment);
      if (!is_look && AskElsewhere(reading, now)) {
        continue;
      }
    }
    if (!is_look) {
      events_.push_back(TierRead{reading.ticket, std::move(answer.found)});
    }
  }
}

bool BucketTier::AskElsewhere(const BucketReads::Reading& reading, Instant now) {
  const auto found = index_->Find(reading.track, reading.location);
  if (!found || now >= reading.deadline || doubts_.Has(found->place)) {
    return false;
  }
  reads_.Ask({reading.ticket, reading.track, reading.location, *found, reading.deadline});
  return true;
}

bool BucketTier::IndexIsFull() const {
  return index_bytes() >= options_.index_bytes_max - options_.index_bytes_max / kPutsShare;
}

// Loud, since what is not known here is a miss, and once, since it lasts.
void BucketTier::TellFull() {
  if (!std::exchange(told_full_, true)) {
    logger_.Error("index of the bucket has no room",
                  {{"packs_left_out", counts_.left_out},
                   {"index_bytes", index_bytes()},
                   {"most", options_.index_bytes_max},
                   {"do", "give the node more memory, or keep less in the bucket"}});
  }
}

// Its objects stay where they are, for whoever remembers them. The pack itself stays known: what it
// removes, what room it takes, and that it need not be read once more.
void BucketTier::ForgetOldest() {
  std::optional<uint32_t> oldest;
  const std::vector<uint64_t> pool_bytes = PoolBytes(false);
  for (const auto& [segment, pack] : table_.packs) {
    if (!pack.leaving && !pack.forgotten && !IsReserved(pack, pool_bytes) &&
        (!oldest || pack.written_us < table_.packs.at(*oldest).written_us)) {
      oldest = segment;
    }
  }
  if (!oldest) {
    return;
  }
  table_.packs.at(*oldest).forgotten = true;
  ++counts_.forgotten;
  TellFull();
  doubts_.Drop(*oldest);
  ForgetEmptyTracks(EraseContents(*oldest));
}

bool BucketTier::idle() const {
  return state_ != State::kOpening && !survey_ && !merge_ && !leaving_ && taken_back_.empty() &&
         pack_looks_.empty() && absences_.idle() && reads_.idle() && queue_.idle() &&
         waiting_.empty();
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
