#include "kvcast/client/durable_check.h"

#include <algorithm>

#include "kvcast/catalog/acknowledgement.h"

namespace kvcast {

DurableCheck::~DurableCheck() {
  for (const auto& [ack_track, seen] : seen_) {
    acks_->Leave(ack_track);
  }
}

bool DurableCheck::Follows(const TrackName& track) {
  const Result<TrackName> ack_track = AckTrackOf(track.space());
  if (!ack_track.ok() || seen_.contains(*ack_track)) {
    return ack_track.ok();
  }
  if (seen_.size() >= kGenerationsMax || !acks_->Join(*ack_track).ok()) {
    return false;
  }
  seen_.emplace(*ack_track, 0);
  return true;
}

void DurableCheck::Add(size_t block, const std::vector<BlockSource>& sources, Instant now) {
  deadline_ = now + kPatience;
  for (const BlockSource& source : sources) {
    if (Follows(source.track)) {
      open_.emplace(Place{source.track, source.group}, block);
    }
  }
}

void DurableCheck::Look(Instant now) {
  for (auto& [ack_track, seen] : seen_) {
    const std::span<const AckRecord> told = acks_->Told(ack_track);
    for (; seen < told.size(); ++seen) {
      On(ack_track, told[seen]);
    }
    if (!acks_->Over(ack_track).empty()) {
      GiveUp(ack_track);
    }
  }
  if (deadline_ && now >= *deadline_) {
    open_.clear();
  }
}

void DurableCheck::On(const TrackName& ack_track, const AckRecord& record) {
  const Result<TrackName> track = TrackName::Of(ack_track.space(), record.name);
  if (!track.ok()) {
    return;
  }
  std::vector<size_t> blocks;
  for (auto at = open_.lower_bound({*track, record.first});
       at != open_.end() && at->first.first == *track && at->first.second <= record.last;
       at = open_.erase(at)) {
    blocks.push_back(at->second);
  }
  for (const size_t block : blocks) {
    if (!record.level || *record.level < level_) {
      continue;  // Another generation's may still be.
    }
    durable_.emplace(block, *record.level);
  }
  std::erase_if(open_, [&](const auto& each) { return durable_.contains(each.second); });
}

void DurableCheck::GiveUp(const TrackName& ack_track) {
  std::erase_if(open_,
                [&](const auto& each) { return each.first.first.space() == ack_track.space(); });
}

}  // namespace kvcast
