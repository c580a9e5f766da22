// How a disk tier gets its room back: which segments are emptied, when, and what then.
#include <algorithm>

#include "kvcast/base/check.h"
#include "kvcast/store/disk_tier.h"

namespace kvcast {
namespace {

// A file that could not be removed is tried again after this.
constexpr Duration kRemoveAgain = std::chrono::seconds(1);

}  // namespace

void DiskTier::StartDrains(Instant now) {
  if (!rescue_) {
    if (const auto segment = FrailSegment(now)) {
      StartDrain(rescue_, *segment, SegmentDrain::Why::kRescue);
    }
  }
  const bool index_full = index_bytes() >= options_.index_bytes_max;
  // The index points at the last copy of an object. While that may lie in a frail segment, no other
  // segment is given up that holds an earlier one, unless nothing else is left.
  const bool may_evict = !rescue_ || log_->stuck();
  if (!evict_ && may_evict && (index_full || log_->wants_room())) {
    // Only if nothing is being removed already whose room would do.
    if (const auto segment = removing_.empty() ? Victim(now) : std::nullopt) {
      StartDrain(evict_, *segment, SegmentDrain::Why::kRoom);
      if (index_full) {
        evict_->GiveUpMoving();
      }
    }
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

void DiskTier::StartDrain(std::optional<SegmentDrain>& drain, uint32_t segment,
                          SegmentDrain::Why why) {
  table_.segments.at(segment).draining = true;
  drain.emplace(segment, why,
                SegmentDrain::Parts{superblock_.directory, options_.key_property, index_.get(),
                                    &*log_, policy_.get(), &table_, &outbox_,
                                    // The rest of the room is for those who ask.
                                    hands_over_ ? options_.read_bytes_max / 2 : 0});
}

std::optional<uint32_t> DiskTier::FrailSegment(Instant now) const {
  // The last first: it may hold copies, not known to be durable, of what an earlier one holds.
  for (auto found = table_.segments.rbegin(); found != table_.segments.rend(); ++found) {
    const auto& [number, segment] = *found;
    if (segment.state == SegmentState::kFrail && !segment.draining && !log_->Busy(number) &&
        now >= segment.retry_at) {
      return number;
    }
  }
  return std::nullopt;
}

std::optional<uint32_t> DiskTier::Victim(Instant now) {
  std::vector<SegmentView> views;
  for (const auto& [number, segment] : table_.segments) {
    const bool may_go =
        segment.state == SegmentState::kSealed || segment.state == SegmentState::kHeld;
    if (may_go && !segment.draining && now >= segment.retry_at) {
      views.push_back({number, segment.bytes, index_->LiveBytes(number)});
    }
  }
  return views.empty() ? std::nullopt : std::optional(policy_->Victim(views, *index_));
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
    ++segment.held_count;
    segment.draining = false;
    segment.retry_at = now + kRemoveAgain;
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
  }
  return true;
}

bool DiskTier::idle() const {
  return state_ != State::kOpening && readings_.empty() && removing_.empty() && !rescue_ &&
         !evict_ && waiting_.empty() && (!log_ || log_->idle());
}

DiskTierCounts DiskTier::counts() const {
  DiskTierCounts counts = counts_;
  counts.write_errors = log_ ? log_->failure_count() : 0;
  return counts;
}

}  // namespace kvcast
