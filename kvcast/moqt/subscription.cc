#include "kvcast/moqt/subscription.h"

namespace kvcast::moqt {

void PublisherSide::OnDataStopped(StreamId stream) {
  if (sender_.OnStopped(stream)) {
    Tell(SubgroupStopped{id(), stream});
  }
}

Result<void> PublisherSide::EndTrack(DoneCode code, std::string reason) {
  if (over() || awaits_answer()) {
    return Error(ErrorCode::kInvalid, "The subscription is not open.");
  }
  sender_.Stop(ResetCode::kCancelled);
  Send(PublishDone{code, sender_.stream_count(), std::move(reason)}, true);
  Finish();
  return {};
}

Parameters PublisherSide::UpdateAnswer() const {
  Parameters answer;
  answer.largest_object = sender_.largest();
  return answer;
}

void PublisherSide::Release(ResetCode code) {
  sender_.Stop(code);
  state().requests.Unclaim(track_, id());
}

Decoded<void> SubscriberSide::OnDone(const PublishDone& done) {
  if (receiver_.done_received()) {
    return Unexpected(done);
  }
  Tell(PublishDoneReceived{id(), done});
  receiver_.OnDone(done);
  FinishIfComplete();
  return {};
}

void SubscriberSide::FinishIfComplete() {
  if (accepted() && receiver_.complete()) {
    Finish();
  }
}

void SubscriberSide::Release(ResetCode code) {
  (void)code;
  receiver_.Stop();
  state().requests.Unclaim(track_, id());
}

}  // namespace kvcast::moqt
