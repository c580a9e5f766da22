#include "kvcast/moqt/track_receiver.h"

#include <utility>

namespace kvcast::moqt {

Decoded<void> TrackReceiver::Begin(uint64_t alias, const TrackTraits& traits) {
  KVCAST_TRY_VOID(state_->requests.AddAlias(alias, request_));
  alias_ = alias;
  traits_ = traits;
  return {};
}

Decoded<void> TrackReceiver::OnObject(ReceivedObject received) {
  KVCAST_TRY_VOID(rules_.OnObject(received.object, false));
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
  KVCAST_TRY_VOID(rules_.OnObject(datagram.object, datagram.end_of_group));
  if (queue_.datagram_bytes() < state_->limits.datagram_queue_bytes) {
    queue_.Push(ReceivedObject::kNoStream,
                ReceivedObject{std::move(datagram.object), ReceivedObject::kNoStream, false,
                               datagram.end_of_group, state_->now});
  }
  return {};
}

Decoded<void> TrackReceiver::CheckEnd(const SubgroupEnd& end, std::optional<uint64_t> last) {
  if (!last || !end.subgroup) {
    return {};
  }
  return rules_.OnSubgroupEnd(end.group, *end.subgroup, *last, end.end_of_group);
}

void TrackReceiver::OnStreamEnded(const SubgroupEnd& end) {
  ++streams_ended_;
  queue_.Push(end.stream, end);
  TellIfComplete(end.stream);
}

void TrackReceiver::OnDone(const PublishDone& done) {
  done_ = done;
  TellIfComplete(0);
}

bool TrackReceiver::complete() const {
  return done_ && streams_ended_ == streams_opened_ && streams_ended_ >= done_->streams;
}

void TrackReceiver::TellIfComplete(StreamId stream) {
  if (complete()) {
    queue_.Push(stream, TrackEnd{*done_});
  }
}

void TrackReceiver::Stop() {
  if (alias_) {
    state_->requests.RetireAlias(*alias_, request_);
  }
}

}  // namespace kvcast::moqt
