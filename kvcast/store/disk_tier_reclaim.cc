// How a disk tier gets its room back: which segments are emptied, when, and what then.
#include <algorithm>
#include <set>
#include <utility>

#include "kvcast/base/check.h"
#include "kvcast/store/disk_tier.h"

namespace kvcast {
namespace {

// A file that could not be removed is tried again after this.
constexpr Duration kRemoveAgain = std::chrono::seconds(1);
// So many segments are emptied in vain before puts are refused, and so long nothing is tried then.
constexpr uint32_t kFruitlessMax = 16;
constexpr Duration kEvictAgain = std::chrono::seconds(1);
// Of the budget: where removals take more than this, segments go by age.
constexpr uint64_t kRemovalsShare = 16;
// Of the objects here, so many parts: as many groups are condemned when the index is full.
constexpr size_t kCondemnedShare = 32;
// What cannot be read is read again after this, then after twice as long, and so on.
constexpr Duration kReadAgain = std::chrono::seconds(2);
constexpr Duration kReadAgainMax = std::chrono::minutes(10);

// What is remembered for the sake of unread segments is at most this part of the index, once they
// have been read in vain so often.
constexpr size_t kUnreadShare = 8;
constexpr uint32_t kUnreadTries = 4;

Duration AgainAfter(uint32_t times) {
  return std::min<Duration>(kReadAgain * (uint64_t{1} << std::min(times, 16u)), kReadAgainMax);
}

}  // namespace

void DiskTier::StartDrains(Instant now) {
  if (!rescue_ && !late_) {
    if (const auto segment = FrailSegment(now)) {
      StartDrain(rescue_, *segment, SegmentDrain::Why::kRescue);
    }
  }
  // The index points at the last copy of an object. While that may lie in a frail segment, no other
  // segment is given up that holds an earlier one, unless nothing else is left.
  const bool may_evict = !late_ && (!rescue_ || log_->stuck());
  // Only if nothing is being removed already whose room would do.
  if (!evict_ && may_evict && removing_.empty() && now >= evict_again_ &&
      (index_full() || over_budget() || log_->wants_room())) {
    StartEvicting(now);
  }
  // Nowhere to move anything to: then what is to be moved has to go.
  if (log_->stuck() && removing_.empty()) {
    ++counts_.gave_up;
    if (evict_) {
      evict_->GiveUpMoving();
    } else if (rescue_) {
      rescue_->GiveUpMoving();
    }
  }
}

void DiskTier::StartEvicting(Instant now) {
  evict_again_ = Instant();
  if (progress_ || table_.allocated < least_allocated_) {
    progress_ = false;
    fruitless_ = 0;
    least_allocated_ = table_.allocated;
  }
  const bool index = index_full();
  if (index) {
    policy_->CondemnSome(index_->object_count() / kCondemnedShare + 1, *index_);
  }
  const auto segment = fruitless_ < kFruitlessMax ? Victim(now) : std::nullopt;
  if (segment) {
    counts_.gave_up += static_cast<uint64_t>(index);
    StartDrain(evict_, *segment, index ? SegmentDrain::Why::kIndex : SegmentDrain::Why::kRoom);
    return;
  }
  if (index) {
    log_->Seal();  // What fills it may lie in the segment that is being written.
    evict_again_ = now + kEvictAgain;
  }
  if (log_->sealing()) {
    return;
  }
  // All that is here is reserved, or cannot be read: whoever waits for room waits in vain.
  fruitless_ = 0;
  least_allocated_ = UINT64_MAX;
  evict_again_ = now + kEvictAgain;
  if (log_->puts_wait() && log_->wants_room()) {
    logger_.Warning("no segment can be given up for its room", {});
    log_->Refuse(Error(ErrorCode::kMachine,
                       "The disk is full, and nothing on it may be given up: it is reserved, or "
                       "cannot be read."),
                 now);
  }
}

void DiskTier::StartDrain(std::optional<SegmentDrain>& drain, uint32_t segment,
                          SegmentDrain::Why why) {
  table_.segments.at(segment).draining = true;
  drain.emplace(
      segment, why,
      SegmentDrain::Parts{
          ++last_drain_, superblock_.directory, options_.key_property, index_.get(), &*log_,
          policy_.get(), &table_, &outbox_, unread_segments_ > 0 ? &removals_ : nullptr,
          // The rest of the room is for those who ask.
          hands_over_ ? options_.read_bytes_max / 2 : 0,
          [this](const TrackName& track, uint64_t group) { return Expects(track, group); }});
}

std::optional<uint32_t> DiskTier::FrailSegment(Instant now) const {
  // The last first: it may hold copies, not known to be durable, of what an earlier one holds.
  for (auto found = table_.segments.rbegin(); found != table_.segments.rend(); ++found) {
    const auto& [number, segment] = *found;
    const bool frail =
        segment.state == SegmentState::kFrail || segment.state == SegmentState::kHeld;
    if (frail && !segment.draining && !log_->Busy(number) && now >= segment.retry_at) {
      return number;
    }
  }
  return std::nullopt;
}

std::vector<SegmentView> DiskTier::Views(Instant now) const {
  std::vector<SegmentView> views;
  for (const auto& [number, segment] : table_.segments) {
    const bool may_go =
        segment.state == SegmentState::kSealed || segment.state == SegmentState::kHeld;
    // What was read in vain so often need not be waited for once more.
    const bool in_vain = segment.state == SegmentState::kHeld && segment.held_count >= kUnreadTries;
    if (may_go && !segment.draining && (now >= segment.retry_at || in_vain)) {
      views.push_back({number, segment.bytes, index_->LiveBytes(number),
                       table_.RemovalBytesOf(number) + index_->FactBytes(number)});
    }
  }
  return views;
}

// A segment stays free besides, so that puts find what has come in a segment that may go, and not
// in the one that is being written.
bool DiskTier::HasSpareRoom(uint64_t bytes, Instant now) {
  if (state_ != State::kReady || index_bytes() > options_.index_bytes_max / 8 * 7) {
    return false;
  }
  const std::pair at(table_.last_number, counts_.segments_removed);
  if (spare_room_at_ != at) {
    spare_room_at_ = at;
    spare_room_ = policy_->SpareRoom(Views(now));
  }
  const uint64_t kept = (DiskLog::kLastSegments + 1) * superblock_.segment_bytes;
  return table_.allocated + kept + log_->queued_bytes() + bytes <= options_.bytes_max + spare_room_;
}

std::optional<uint32_t> DiskTier::Victim(Instant now) {
  const std::vector<SegmentView> views = Views(now);
  if (views.empty()) {
    return std::nullopt;
  }
  uint64_t removal_bytes = 0;
  for (const auto& [number, segment] : table_.segments) {
    removal_bytes += table_.RemovalBytesOf(number);
  }
  // A removal is moved along until all that was here before it has gone, so it is the oldest that
  // must go for removals to get fewer. Perhaps all of it has to be moved: there is room for that.
  removals_weigh_ = removal_bytes > options_.bytes_max / kRemovalsShare;
  if (removals_weigh_ && views.front().segment == table_.Oldest() && log_->has_last_segments()) {
    return views.front().segment;
  }
  const auto segment = policy_->Victim(views, *index_);
  fruitless_ += segment ? 1u : 0u;
  return segment;
}

void DiskTier::PumpDrain(std::optional<SegmentDrain>& drain, Instant now) {
  if (!drain) {
    return;
  }
  drain->Pump();
  for (TierEvicted& evicted : drain->TakeEvicted()) {
    Evicted(std::move(evicted));
  }
  if (drain->held()) {
    counts_.damaged += drain->damaged();
    Segment& segment = table_.segments.at(drain->segment());
    if (segment.state == SegmentState::kFrail) {
      segment.state = SegmentState::kHeld;
    }
    segment.draining = false;
    segment.retry_at = now + AgainAfter(segment.held_count++);
    drain.reset();
  } else if (drain->drained() && table_.segments.at(drain->segment()).reads == 0) {
    FinishDrain(drain);
  }
}

void DiskTier::FinishDrain(std::optional<SegmentDrain>& drain) {
  const uint32_t number = drain->segment();
  counts_.damaged += drain->damaged();
  if (index_->LiveBytes(number) > 0) {
    for (EvictedGroup& lost : index_->EraseSegment(number)) {
      Evicted({std::move(lost)});
    }
  }
  drain.reset();
  removing_.emplace(outbox_.Remove(number), number);
}

bool DiskTier::OnRemoved(const DeviceCompletion& completion, Instant now) {
  const auto found = removing_.find(completion.token);
  if (found == removing_.end()) {
    return false;
  }
  const uint32_t number = found->second;
  removing_.erase(found);
  if (completion.error) {
    Segment& segment = table_.segments.at(number);
    segment.draining = false;
    segment.state = SegmentState::kFrail;
    segment.retry_at = now + kRemoveAgain;
    logger_.Warning("segment not removed",
                    {{"segment", number}, {"reason", completion.error->message}});
  } else {
    table_.Drop(number);
    ++counts_.segments_removed;
    CountUnread();
  }
  return true;
}

bool DiskTier::idle() const {
  return state_ != State::kOpening && readings_.empty() && !late_ && removing_.empty() &&
         !rescue_ && !evict_ && waiting_.empty() && (!log_ || log_->idle());
}

void DiskTier::CountUnread() {
  unread_segments_ = 0;
  newest_unread_ = 0;
  for (const auto& [number, segment] : table_.segments) {
    if (segment.state == SegmentState::kUnread) {
      ++unread_segments_;
    }
    if (segment.state == SegmentState::kUnread || segment.unseen) {
      newest_unread_ = number;
    }
  }
  if (unread_segments_ == 0) {
    removals_.Clear();
  }
}

bool DiskTier::CostsTooMuch(const Segment& unread) const {
  return unread.held_count >= kUnreadTries &&
         (removals_weigh_ || removals_.bytes() > options_.index_bytes_max / kUnreadShare);
}

// Not while anything is moved or evicted: the index may come to point at copies that are not known
// to be durable, of what is being given up elsewhere.
void DiskTier::StartLate(Instant now) {
  if (unread_segments_ == 0 || late_ || rescue_ || evict_ || !removing_.empty()) {
    return;
  }
  for (auto& [number, segment] : table_.segments) {
    if (segment.state == SegmentState::kUnread && segment.retry_at == Instant()) {
      segment.retry_at = now + AgainAfter(segment.held_count++);
    } else if (segment.state == SegmentState::kUnread && !late_ &&
               (now >= segment.retry_at || CostsTooMuch(segment))) {
      late_.emplace(superblock_.directory, number, segment.bytes, options_.key_property, outbox_);
    }
  }
}

void DiskTier::OnLate(Instant now) {
  if (!late_ || !late_->done()) {
    return;
  }
  const auto number = static_cast<uint32_t>(late_->segment());
  const SegmentLoad::Outcome outcome = late_->Take();
  late_.reset();
  Segment& segment = table_.segments.at(number);
  segment.marker = outcome.marker == 0 ? segment.marker : outcome.marker;
  if (outcome.refused || outcome.foreign) {
    segment.state = SegmentState::kForeign;
    ++counts_.damaged;
    logger_.Error("segment is not of this directory, and left alone", {{"segment", number}});
  } else {
    ApplyLate(number, outcome.contents, !outcome.unreadable);
    segment.removals = RemovalBytes::In(outcome.contents, number);
    if (outcome.unreadable) {
      ++counts_.read_errors;
      // What it gave is known; what it did not give is no longer waited for.
      segment.unseen = CostsTooMuch(segment);
      segment.state = segment.unseen ? SegmentState::kHeld : segment.state;
      segment.retry_at = now + AgainAfter(segment.held_count++);
      logger_.Error(segment.unseen ? "segment still cannot be read, and goes when room is needed"
                                   : "segment still cannot be read, and stays",
                    {{"segment", number}});
      CountUnread();
      return;
    }
    counts_.damaged += outcome.damaged;
    segment.state = outcome.sealed ? SegmentState::kSealed : SegmentState::kFrail;
    segment.retry_at = Instant();
    segment.held_count = 0;
    logger_.Info("segment read at last", {{"segment", number}, {"damaged", outcome.damaged}});
  }
  CountUnread();
}

void DiskTier::ApplyLate(uint32_t segment, const SegmentContents& contents, bool whole) {
  for (EvictedGroup& lost : removals_.ApplyLate(contents, segment, whole, *index_)) {
    Evicted({std::move(lost)});
  }
  std::set<std::pair<uint32_t, uint64_t>> told;
  for (const SegmentEntry& entry : contents.entries) {
    const auto* const object = std::get_if<ObjectEntry>(&entry.body);
    if (object == nullptr || !told.emplace(entry.track, object->location.group).second) {
      continue;
    }
    const auto listed = index_->Listed(contents.track_of(entry), object->location.group);
    if (!listed || listed->facts.object_count == 0) {
      continue;
    }
    policy_->OnStored(listed->track, listed->group, listed->key,
                      index_->RecordBytes(listed->track, listed->group));
    if (listed->facts.whole()) {
      events_.push_back(TierArrived{*listed});
    }
  }
}

DiskTierCounts DiskTier::counts() const {
  DiskTierCounts counts = counts_;
  counts.write_errors = log_ ? log_->failure_count() : 0;
  return counts;
}

}  // namespace kvcast
