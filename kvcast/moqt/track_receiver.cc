#include "kvcast/moqt/track_receiver.h"

#include <algorithm>
#include <utility>

namespace kvcast::moqt {

Decoded<void> TrackReceiver::Begin(uint64_t alias, const TrackTraits& traits) {
  KVCAST_TRY_VOID(state_->requests.AddAlias(alias, request_));
  alias_ = alias;
  traits_ = traits;
  return {};
}

Decoded<void> TrackReceiver::Counted(Decoded<void> checked) {
  size_t& all = state_->rules_bytes;
  do {
    all += rules_.bytes() - std::exchange(rules_bytes_, rules_.bytes());
  } while (all > state_->limits.rules_bytes && rules_.ForgetSome());
  return checked;
}

Decoded<void> TrackReceiver::OnObject(ReceivedObject received) {
  received.gaps = PriorGaps::Of(received.object);
  KVCAST_TRY_VOID(Counted(rules_.OnObject(received.object, received.gaps, false)));
  const StreamId stream = received.stream;
  queue_.Push(stream, std::move(received));
  return {};
}

Decoded<void> TrackReceiver::OnDatagram(ObjectDatagram datagram) {
  if (datagram.fault) {
    return *std::move(datagram.fault);
  }
  if (datagram.default_priority) {
    datagram.object.priority = traits_.default_priority;
  }
  last_heard_ = state_->now;
  const PriorGaps gaps = PriorGaps::Of(datagram.object);
  KVCAST_TRY_VOID(Counted(rules_.OnObject(datagram.object, gaps, datagram.end_of_group)));
  if (queue_.datagram_bytes() < state_->limits.datagram_queue_bytes && !state_->credit.full()) {
    queue_.Push(ReceivedObject::kNoStream,
                ReceivedObject{std::move(datagram.object), ReceivedObject::kNoStream, false,
                               datagram.end_of_group, state_->now, gaps});
  }
  return {};
}

Decoded<void> TrackReceiver::CheckEnd(const SubgroupEnd& end, std::optional<uint64_t> last) {
  if (!last || !end.subgroup) {
    return {};
  }
  return Counted(rules_.OnSubgroupEnd(end.group, *end.subgroup, *last, end.end_of_group));
}

void TrackReceiver::OnStreamOpened(uint64_t group) {
  ++streams_opened_;
  last_heard_ = state_->now;
  ++open_groups_[group];
}

bool TrackReceiver::HasOpenStreams(uint64_t first_group, uint64_t last_group) const {
  const auto first = open_groups_.lower_bound(first_group);
  return first != open_groups_.end() && first->first <= last_group;
}

void TrackReceiver::OnStreamEnded(const SubgroupEnd& end) {
  ++streams_ended_;
  last_heard_ = state_->now;
  if (const auto group = open_groups_.find(end.group); --group->second == 0) {
    open_groups_.erase(group);
  }
  queue_.Push(end.stream, end);
  TellIfEnded(end.stream);
}

void TrackReceiver::Want(const Parameters& parameters) {
  timeout_ms_ = std::max({timeout_ms_, parameters.object_delivery_timeout_ms.value_or(0),
                          parameters.subgroup_delivery_timeout_ms.value_or(0)});
}

void TrackReceiver::OnDone(const PublishDone& done) {
  done_ = done;
  last_heard_ = state_->now;
  if (alias_) {
    state_->requests.LendAlias(*alias_, request_);
  }
  TellIfEnded(0);
  if (!end_told_) {
    AwaitEnd(state_->now + patience());
  }
}

Duration TrackReceiver::patience() const {
  const uint64_t timeout_ms = std::max(
      {timeout_ms_, traits_.object_delivery_timeout_ms, traits_.subgroup_delivery_timeout_ms});
  return std::max(state_->limits.end_patience, After(Instant(), timeout_ms) - Instant());
}

void TrackReceiver::AwaitEnd(Instant until) {
  times_cleared_ = state_->credit.times_cleared();
  state_->timers.Set({request_, Timers::Kind::kTrackEnd}, until);
}

void TrackReceiver::OnTimeout() {
  const CreditBook& credit = state_->credit;
  const Instant quiet_since = std::max(last_heard_, queue_.last_taken());
  // While a session is crowded its peer may begin no streams, and while nobody takes what has come,
  // those that are there may leave no room for others.
  if (streams_opened_ != streams_ended_ || !queue_.empty() || credit.crowded() ||
      credit.times_cleared() != times_cleared_) {
    AwaitEnd(state_->now + patience());
  } else if (quiet_since + patience() > state_->now) {
    AwaitEnd(quiet_since + patience());
  } else {
    timed_out_ = true;
    TellIfEnded(0);
  }
}

bool TrackReceiver::ended() const {
  return done_ && streams_ended_ == streams_opened_ &&
         (streams_ended_ >= done_->streams || timed_out_);
}

void TrackReceiver::TellIfEnded(StreamId stream) {
  if (ended() && !std::exchange(end_told_, true)) {
    queue_.Push(stream, TrackEnd{*done_, streams_ended_ >= done_->streams});
  }
}

void TrackReceiver::Stop() {
  if (alias_) {
    state_->requests.RetireAlias(*alias_, request_);
  }
}

}  // namespace kvcast::moqt
