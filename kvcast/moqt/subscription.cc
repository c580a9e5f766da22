#include "kvcast/moqt/subscription.h"

#include "kvcast/moqt/fetch_request.h"

namespace kvcast::moqt {
namespace {

// Why streams are reset that are open when a subscription ends, where there is a code for it.
ResetCode ResetCodeOf(DoneCode code) {
  switch (code) {
    case DoneCode::kTooFarBehind:
      return ResetCode::kTooFarBehind;
    case DoneCode::kMalformedTrack:
      return ResetCode::kMalformedTrack;
    default:
      return ResetCode::kCancelled;
  }
}

// Whether a subscription that ends so, and whose streams have all come, has brought everything.
bool MeansAll(DoneCode code) {
  return code == DoneCode::kTrackEnded || code == DoneCode::kSubscriptionEnded;
}

}  // namespace

void PublisherSide::OnDataStopped(StreamId stream) {
  if (sender_.OnStopped(stream)) {
    Tell(SubgroupStopped{id(), stream});
  }
  FinishIfSent();
}

void PublisherSide::OnBytesSent(StreamId stream, uint64_t bytes) {
  sender_.OnSent(stream, bytes);
  FinishIfSent();
}

void PublisherSide::OnDatagramsGone(uint64_t count) {
  sender_.OnDatagramsGone(count);
  FinishIfSent();
}

Result<void> PublisherSide::EndTrack(DoneCode code, std::string reason, bool lacks_some) {
  if (over() || ending() || awaits_answer()) {
    return Error(ErrorCode::kInvalid, "The subscription is not open.");
  }
  if (code == DoneCode::kTooFarBehind) {
    sender_.Stop(ResetCodeOf(code));
  } else {
    sender_.Close(ResetCodeOf(code));
  }
  lacks_some_ = lacks_some;
  done_ = PublishDone{code, 0, std::move(reason)};
  FinishIfSent();
  return {};
}

void PublisherSide::FinishIfSent() {
  if (ending() && !over() && sender_.sent_all()) {
    const bool lacks_some = lacks_some_ || sender_.left_out();
    done_->streams =
        MeansAll(done_->code) && lacks_some ? PublishDone::kStreamsUnknown : sender_.stream_count();
    Send(*done_, true);
    Finish();
  }
}

void PublisherSide::OnTimer(Timers::Kind kind) {
  if (kind == Timers::Kind::kDelivery) {
    sender_.OnTimeout();
    FinishIfSent();
  } else {
    Request::OnTimer(kind);
  }
}

void PublisherSide::OnUpdate(const Parameters& parameters, Parameters& answer) {
  if (!answer.largest_object) {
    answer.largest_object = sender_.largest();
  }
  const bool began = !sender_.forward() && parameters.forward == true;
  sender_.Update(parameters);
  if (began) {
    joining_location_ = answer.largest_object;
  }
}

void PublisherSide::FailUpdate(const RequestError& error) {
  SendAnswer(error);
  if (over()) {
    return;
  }
  if (awaits_answer()) {  // Nothing was established that could be ended by more than this.
    Finish();
  } else if (ending()) {
    done_->code = DoneCode::kUpdateFailed;
  } else {
    (void)EndTrack(DoneCode::kUpdateFailed, error.reason).ok();
  }
  TellCancelled(error.reason);
}

void PublisherSide::Establish(std::optional<Location> largest) {
  established_ = true;
  joining_location_ = largest;
}

void PublisherSide::Join(RequestId fetch) {
  std::erase_if(joins_, [this](RequestId each) {  // Those that were cancelled meanwhile.
    const Request* found = state().requests.Find(each);
    return found == nullptr || found->over();
  });
  joins_.push_back(fetch);
  OnUpdatesAnswered();
}

void PublisherSide::OnUpdatesAnswered() {
  if (!over() && (!established_ || has_unanswered_updates())) {
    return;
  }
  for (const RequestId each : std::exchange(joins_, {})) {
    IncomingFetch* fetch = state().requests.Find<IncomingFetch>(each);
    if (fetch == nullptr || fetch->over()) {
      continue;
    }
    if (over()) {
      fetch->RefuseJoin(RequestCode::kInvalidJoiningRequestId, "The subscription is over.");
    } else if (!sender_.forward() || !joining_location_) {
      fetch->RefuseJoin(RequestCode::kInvalidRange,
                        "The subscription has no objects, or none now.");
    } else {
      fetch->Resolve(track_, *joining_location_, id());
    }
  }
}

void PublisherSide::Release(ResetCode code) {
  sender_.Stop(code);
  state().requests.Unclaim(track_, id());
  OnUpdatesAnswered();
}

Decoded<void> SubscriberSide::CheckAlias(const SessionState& state, uint64_t alias,
                                         const TrackName& track) {
  const auto* holder = dynamic_cast<const SubscriberSide*>(state.requests.FindAlias(alias));
  if (holder != nullptr && holder->track() != track && !state.requests.IsAliasFree(alias)) {
    return Fault::Session(SessionCode::kDuplicateTrackAlias,
                          "Alias " + std::to_string(alias) + " stands for another track.");
  }
  return {};
}

// Only a track that can begin groups on demand may be asked to.
Result<void> SubscriberSide::CheckUpdate(const Parameters& parameters) {
  if (parameters.new_group_request && !receiver_.traits().dynamic_groups) {
    return Error(ErrorCode::kInvalid, "The track does not begin groups on demand.");
  }
  return {};
}

Decoded<void> SubscriberSide::OnDone(const PublishDone& done) {
  if (receiver_.done_received()) {
    return Unexpected(done);
  }
  NoteLastMessage(true);
  Tell(PublishDoneReceived{id(), done});
  receiver_.OnDone(done);
  UnclaimIfDone();
  FinishIfEnded();
  return {};
}

void SubscriberSide::UnclaimIfDone() {
  if (accepted() && receiver_.done_received()) {
    state().requests.Unclaim(track_, id());
  }
}

void SubscriberSide::OnTimer(Timers::Kind kind) {
  if (kind == Timers::Kind::kTrackEnd) {
    receiver_.OnTimeout();
    FinishIfEnded();
  } else {
    Request::OnTimer(kind);
  }
}

void SubscriberSide::FinishIfEnded() {
  if (accepted() && receiver_.ended()) {
    Finish();
  }
}

void SubscriberSide::Release(ResetCode code) {
  (void)code;
  receiver_.Stop();
  state().requests.Unclaim(track_, id());
}

}  // namespace kvcast::moqt
