#include "kvcast/moqt/track_receiver.h"

#include <utility>

namespace kvcast::moqt {

Decoded<void> TrackReceiver::Begin(uint64_t alias, uint8_t default_priority) {
  KVCAST_TRY_VOID(state_->requests.AddAlias(alias, request_));
  alias_ = alias;
  default_priority_ = default_priority;
  return {};
}

void TrackReceiver::OnObject(ReceivedObject received) {
  const StreamId stream = received.stream;
  queue_.Push(stream, std::move(received));
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
