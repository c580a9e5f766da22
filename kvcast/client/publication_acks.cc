// What a publication that is to be durable hears of that: of its own blocks, on the node's ack
// track.
#include <algorithm>
#include <string>
#include <utility>

#include "kvcast/client/publication.h"

namespace kvcast {

// The node has taken the track, so it has one that tells of it.
void Publication::FollowAcks() {
  if (!asks_durability() || ack_track_) {
    return;
  }
  const Result<TrackName> name = AckTrackOf(track_.space());
  const Result<void> joined = name.ok() ? acks_->Join(*name) : Result<void>(name.error());
  if (!joined.ok()) {
    Fail(PublishFault::kNodeLost, joined.error().message());
    return;
  }
  ack_track_ = *name;
  acks_seen_ = acks_->Told(*name).size();  // That was of another publication.
}

void Publication::TakeAcks(Instant now) {
  while (ack_track_ && acks_seen_ < acks_->Told(*ack_track_).size()) {
    last_progress_ = now;
    const AckRecord record = acks_->Told(*ack_track_)[acks_seen_++];
    OnAck(record);
  }
  if (ack_track_ && !acks_->Over(*ack_track_).empty()) {
    Fail(PublishFault::kNotDurable, acks_->Over(*ack_track_));
  }
}

void Publication::LeaveAcks() {
  check_.reset();
  if (ack_track_) {
    acks_->Leave(*std::exchange(ack_track_, std::nullopt));
  }
}

void Publication::Reach(Durability level) {
  report_.reached = std::min(report_.reached.value_or(level), level);
}

void Publication::OnAck(const AckRecord& record) {
  if (over() || record.name != track_.name()) {
    return;
  }
  for (auto at = std::ranges::lower_bound(sent_, record.first);
       at != sent_.end() && *at <= record.last; ++at) {
    const size_t block = *at;
    if (!record.level || *record.level < offer_.durability) {
      Fail(PublishFault::kNotDurable, "The node could not make block " + std::to_string(block) +
                                          " durable: " + std::string(ToString(offer_.durability)) +
                                          " was not reached.");
      return;
    }
    Reach(*record.level);
    reached_.insert(block);
  }
  report_.durable = reached_.size();
}

}  // namespace kvcast
