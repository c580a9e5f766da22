#include "kvcast/moqt/fetch_request.h"

#include <algorithm>
#include <utility>

namespace kvcast::moqt {

Result<RequestId> OutgoingFetch::Open(SessionState& state, Fetch fetch) {
  if (fetch.range.empty()) {
    return Error(ErrorCode::kInvalid, "The range to fetch is empty.");
  }
  fetch.request_id = state.requests.next_id();
  KVCAST_TRY(Bytes message, state.EncodeRequest(fetch));
  const RequestId id = state.requests.NextId();
  auto request = std::make_unique<OutgoingFetch>(id, state.OpenBidi(), state, std::move(fetch));
  request->SendEncoded(std::move(message));
  state.requests.Add(std::move(request));
  return id;
}

Decoded<void> OutgoingFetch::OnMessage(Message& message) {
  if (RequestError* error = std::get_if<RequestError>(&message); error != nullptr && !accepted_) {
    return OnError(*error);
  }
  FetchOk* ok = std::get_if<FetchOk>(&message);
  return ok != nullptr && !accepted_ ? OnOk(*ok) : Decoded<void>(Unexpected(message));
}

Decoded<void> OutgoingFetch::OnOk(FetchOk& ok) {
  if (state().codec.TraitsOf(ok.properties).unknown_mandatory) {
    RefuseAnswer(RequestCode::kUnsupportedExtension,
                 "The track demands an extension we do not know.");
    return {};
  }
  // Compared as the wire has them, one past the last object: an end at the very start is no fault.
  const Location start = message_.range.first;
  const bool whole_group = ok.last.object == LocationRange::kWholeGroup;
  if (ok.last.group < start.group ||
      (ok.last.group == start.group && !whole_group && ok.last.object + 1 < start.object)) {
    return Fault::Violation("A fetch ends before it starts.");
  }
  accepted_ = true;
  Tell(FetchAccepted{id(), std::move(ok)});
  FinishIfComplete();
  return {};
}

Decoded<void> OutgoingFetch::OnDataOpened() {
  if (std::exchange(data_opened_, true)) {
    return Fault::Violation("A fetch is answered on two streams.");
  }
  return {};
}

Decoded<void> OutgoingFetch::OnItem(StreamId stream, FetchItem item) {
  if (RangeEnd* end = std::get_if<RangeEnd>(&item)) {
    queue_.Push(stream, *end);
    return {};
  }
  Object& object = std::get<Object>(item);
  if (!message_.range.Contains(object.location)) {
    return Fault::Track(ResetCode::kMalformedTrack,
                        "Object " + object.location.ToString() + " was not asked for.");
  }
  queue_.Push(stream, ReceivedObject{std::move(object), stream, false, false});
  return {};
}

void OutgoingFetch::OnDataEnded(StreamId stream, const FetchEnd& end) {
  queue_.Push(stream, end);
  data_ended_ = true;
  FinishIfComplete();
}

void OutgoingFetch::FinishIfComplete() {
  if (accepted_ && data_ended_) {
    Finish();
  }
}

void IncomingFetch::AwaitSubscription() {
  state().timers.Set({id(), Timers::Kind::kJoin}, state().now + state().limits.join_patience);
}

void IncomingFetch::OnTimer(Timers::Kind kind) {
  if (kind != Timers::Kind::kJoin) {
    Request::OnTimer(kind);
    return;
  }
  const bool came = std::ranges::none_of(
      state().early_joins, [this](const auto& entry) { return entry.second == id(); });
  if (came) {
    RefuseJoin(RequestCode::kTimeout, "The subscription was not answered in time.");
  } else {
    RefuseJoin(RequestCode::kInvalidJoiningRequestId, "There is no such subscription.");
  }
}

void IncomingFetch::Resolve(const TrackName& track, Location joining_location,
                            RequestId subscription) {
  state().timers.Set({id(), Timers::Kind::kJoin}, std::nullopt);
  const bool relative = message_.type == Fetch::Type::kRelativeJoining;
  const uint64_t back = std::min(message_.joining_start, joining_location.group);
  message_.track = track;
  message_.range = {{relative ? joining_location.group - back : message_.joining_start, 0},
                    joining_location};
  if (message_.range.empty()) {
    RefuseJoin(RequestCode::kInvalidRange, "The fetch would begin after the subscription does.");
    return;
  }
  Tell(FetchReceived{id(), message_.track, message_.range, message_.parameters, subscription});
  ForgetTokens();
  Keep(0);
}

void IncomingFetch::RefuseJoin(RequestCode code, std::string reason) {
  (void)Refuse({code, std::nullopt, std::move(reason), std::nullopt}).ok();
}

void IncomingFetch::OnUpdate(const Parameters& parameters, Parameters& answer) {
  (void)answer;
  if (!parameters.subscriber_priority || *parameters.subscriber_priority == subscriber_priority_) {
    return;
  }
  subscriber_priority_ = *parameters.subscriber_priority;
  if (data_ && !sent_all()) {
    state().outbox.Do(ReorderStream{*data_, order()});
  }
}

Result<void> IncomingFetch::Accept(const FetchOk& answer) {
  if (over() || accepted_) {
    return Error(ErrorCode::kInvalid, "The request does not wait for an answer.");
  }
  KVCAST_TRY(Bytes message, Encode(answer));
  accepted_ = true;
  SendEncoded(std::move(message));
  AnswerUpdates();
  FinishIfComplete();
  return {};
}

StreamId IncomingFetch::DataStream() {
  if (!data_) {
    data_ = state().OpenUni(order());
    state().ledger.Open(*data_, id());
    Write(writer_->Header());
  }
  return *data_;
}

// What was written before goes out as urgently as it was to.
void IncomingFetch::NotePriority(uint8_t priority) {
  if (sent_ == written_) {
    SetPriority(priority);
  } else if (priority != (changes_.empty() ? publisher_priority_ : changes_.back().priority)) {
    changes_.push_back({written_, priority});
  }
}

void IncomingFetch::SetPriority(uint8_t priority) {
  if (std::exchange(publisher_priority_, priority) != priority && data_) {
    state().outbox.Do(ReorderStream{*data_, order()});
  }
}

void IncomingFetch::OnBytesSent(StreamId stream, uint64_t bytes) {
  if (data_ != stream) {
    return;
  }
  sent_ += bytes;
  while (!changes_.empty() && changes_.front().begin <= sent_) {
    SetPriority(changes_.front().priority);
    changes_.pop_front();
  }
  FinishIfComplete();
}

void IncomingFetch::Write(Bytes bytes) {
  written_ += bytes.size();
  state().ledger.Add(*data_, bytes.size());
  state().outbox.Do(SendBytes{*data_, std::move(bytes), false});
}

Result<void> IncomingFetch::MayWrite(Location location) const {
  if (over() || data_ended_) {
    return Error(ErrorCode::kNotFound, "The fetch is over.");
  }
  if (!message_.range.Contains(location)) {
    return Error(ErrorCode::kInvalid, "Location " + location.ToString() + " was not asked for.");
  }
  return {};
}

Result<void> IncomingFetch::Send(const Object& object) {
  KVCAST_TRY_VOID(MayWrite(object.location));
  if (!writer_->Accepts(object)) {
    return Error(ErrorCode::kInvalid,
                 "Object " + object.location.ToString() + " may not be next on its stream.");
  }
  NotePriority(object.priority);
  (void)DataStream();
  Write(writer_->Write(object));
  return {};
}

Result<void> IncomingFetch::Send(const RangeEnd& end) {
  KVCAST_TRY_VOID(MayWrite(end.last));
  if (!writer_->Accepts(end)) {
    return Error(ErrorCode::kInvalid, "The range's end may not be next on its stream.");
  }
  (void)DataStream();
  Write(writer_->Write(end));
  return {};
}

Result<void> IncomingFetch::EndData() {
  if (over() || data_ended_) {
    return Error(ErrorCode::kNotFound, "The fetch is over.");
  }
  state().outbox.Do(SendBytes{DataStream(), Bytes(), true});
  state().ledger.Finish(*data_);
  data_ended_ = true;
  FinishIfComplete();
  return {};
}

Result<void> IncomingFetch::ResetData(ResetCode code) {
  if (over() || data_ended_) {
    return Error(ErrorCode::kNotFound, "The fetch is over.");
  }
  state().outbox.Do(ResetStream{DataStream(), static_cast<uint64_t>(code)});
  state().ledger.Drop(*data_);
  data_ended_ = data_reset_ = true;
  // A stream that is reset before its header came is nobody's to the peer, who would wait for ever:
  // it hears of the end on the request's own stream as well.
  Cancel(code);
  return {};
}

void IncomingFetch::OnDataStopped(StreamId stream) {
  if (data_ == stream) {
    Fail(static_cast<uint64_t>(ResetCode::kCancelled), "The peer wants no more of the fetch.");
  }
}

void IncomingFetch::FinishIfComplete() {
  if (accepted_ && sent_all() && !over()) {
    Finish();
  }
}

void IncomingFetch::Release(ResetCode code) {
  state().timers.Set({id(), Timers::Kind::kJoin}, std::nullopt);
  std::erase_if(state().early_joins, [this](const auto& entry) { return entry.second == id(); });
  if (data_ && !data_reset_ && !sent_all()) {
    state().outbox.Do(ResetStream{*data_, static_cast<uint64_t>(code)});
    state().ledger.Drop(*data_);
  }
}

}  // namespace kvcast::moqt
