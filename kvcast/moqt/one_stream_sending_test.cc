// What the session wants done on streams of its own, as messages on the one that is there.
#include <algorithm>
#include <utility>

#include "kvcast/moqt/draft_wire_test.h"
#include "kvcast/moqt/one_stream_shape_test.h"

namespace kvcast::moqt::one_stream {

using draft::Framed;
using draft::Num;

std::optional<TransportAction> OneStreamShape::NextAction() {
  Pump();
  if (out_.empty()) {
    return std::nullopt;
  }
  TransportAction first = std::move(out_.front());
  out_.pop_front();
  return first;
}

void OneStreamShape::Pump() {
  while (std::optional<TransportAction> action = streams_->NextAction()) {
    Translate(*std::move(action));
  }
}

void OneStreamShape::Translate(TransportAction action) {
  if (const auto* open = std::get_if<OpenStream>(&action); open && !IsUni(open->stream)) {
    ++opened_;  // Its first message says what it is.
  } else if (const auto* send = std::get_if<SendBytes>(&action); send && !IsUni(send->stream)) {
    if (!send->bytes.empty()) {
      OnSessionMessage(send->stream, send->bytes.ToString());
    }
    if (send->fin) {
      OnSessionFin(send->stream);
    }
  } else if (const auto* reset = std::get_if<ResetStream>(&action);
             reset && !IsUni(reset->stream)) {
    OnSessionReset(reset->stream, reset->code);
  } else if (const auto* stop = std::get_if<StopSending>(&action); stop && !IsUni(stop->stream)) {
    const auto line = lines_.find(stop->stream);
    if (line != lines_.end() && line->second.own) {
      Post({stop->stream, StopSending{*line->second.own, stop->code}});
    } else {
      EndOurs(stop->stream, stop->code);
    }
  } else if (const auto* credit = std::get_if<StreamCredit>(&action);
             credit == nullptr || IsUni(credit->stream)) {
    out_.push_back(std::move(action));
  }
}

void OneStreamShape::OpenOurs(StreamId stream, const std::string& whole) {
  const Frame frame = Split(whole);
  std::string body = frame.body;
  Line line{TakeId(body), frame.type, true, std::nullopt};
  next_our_id_ = line.id + 2;
  if (HasOwnStream(frame.type)) {
    line.own = ++next_own_ * 4 - (state_->role == Role::kServer ? 3 : 0);
  }
  lines_[stream] = line;
  const StreamId target = line.own.value_or(kControlStream);
  if (line.own) {
    Post({stream, OpenStream{target, {SendOrder::Tier::kRequest}}, 0, line.id});
  }
  Post({stream, SendBytes{target, Bytes::Of(whole), false}, whole.size(), line.id});
  TellSessionItsAllowance();
}

void OneStreamShape::OnSessionMessage(StreamId stream, const std::string& whole) {
  const auto found = lines_.find(stream);
  if (found == lines_.end()) {
    if (OpenerOf(stream) == state_->role) {
      OpenOurs(stream, whole);
    }
    return;
  }
  Line& line = found->second;
  const Frame frame = Split(whole);
  std::string body = frame.body;
  switch (frame.type) {
    case kRequestUpdate: {
      const RequestId id = TakeId(body);
      next_our_id_ = id + 2;
      line.our_updates.push_back(id);
      Say(stream, kRequestUpdate, Num(id) + Num(line.id) + body, whole.size(), id);
      TellSessionItsAllowance();
      return;
    }
    case kNamespace:
    case kNamespaceDone:
    case kPublishBlocked:
      return Say(stream, frame.type, body, whole.size());
    case kPublishDone:
      return Say(stream, kPublishDone, Num(line.id) + body, whole.size());
    case kGoAway:
      return;  // Of one request: the draft has none, and the session ends it when its time is over.
    default:
      return Answer(stream, line, frame, whole.size());
  }
}

// The first one is for the request, if it is the peer's; others are for updates, one after another,
// and an error is for all of them.
void OneStreamShape::Answer(StreamId stream, Line& line, const Frame& frame, size_t session_bytes) {
  const bool error = frame.type == kRequestError;
  std::deque<RequestId> ids;
  if (!line.ours && !std::exchange(line.answered, true)) {
    line.refused = error;
    ids.push_back(line.id);
  } else if (!line.their_updates.empty()) {
    ids.push_back(line.their_updates.front());
    line.their_updates.pop_front();
  }
  if (error) {
    ids.insert(ids.end(), line.their_updates.begin(), line.their_updates.end());
    line.their_updates.clear();
  }
  for (const RequestId id : ids) {
    Say(stream, frame.type, Num(id) + frame.body, std::exchange(session_bytes, 0));
  }
}

void OneStreamShape::OnSessionFin(StreamId stream) {
  const auto line = lines_.find(stream);
  if (line != lines_.end() && line->second.own) {
    Post({stream, SendBytes{*line->second.own, Bytes(), true}});
    line->second.we_ended = true;
    ForgetIfOver(stream);
  } else {
    EndOurs(stream, std::nullopt);
  }
}

void OneStreamShape::OnSessionReset(StreamId stream, uint64_t code) {
  const auto line = lines_.find(stream);
  if (line != lines_.end() && line->second.own) {
    Post({stream, ResetStream{*line->second.own, code}});
    line->second.we_ended = true;
    ForgetIfOver(stream);
  } else {
    EndOurs(stream, code);
  }
}

void OneStreamShape::EndOurs(StreamId stream, std::optional<uint64_t> code) {
  const auto found = lines_.find(stream);
  if (found == lines_.end() || std::exchange(found->second.we_ended, true)) {
    return;
  }
  Line& line = found->second;
  if (!line.ours && !line.answered) {  // Whatever happened to it, it has one answer.
    Answer(stream, line, {kRequestError, SomeError()}, 0);
  } else if (!line.refused && !line.they_ended && (code || line.asked == kPublishNamespace)) {
    SayEnd(stream, line, code.value_or(static_cast<uint64_t>(ResetCode::kCancelled)));
  }
  ForgetIfOver(stream);
}

void OneStreamShape::SayEnd(StreamId stream, const Line& line, uint64_t code) {
  const std::string id = Num(line.id);
  switch (line.asked) {
    case kSubscribe:
    case kPublish:
      if (line.ours == (line.asked == kSubscribe)) {
        Say(stream, kUnsubscribe, id);
      } else {
        Say(stream, kPublishDone, id + Num(0) + Num(PublishDone::kStreamsUnknown) + Num(0));
      }
      return;
    case kFetch:
      if (line.ours) {
        Say(stream, kFetchCancel, id);
      }
      return;  // The end of its data says all there is to say.
    case kPublishNamespace:
      if (line.ours) {
        Say(stream, kPublishNamespaceDone, id);
      } else {
        Say(stream, kPublishNamespaceCancel, id + Num(code) + Num(0));
      }
      return;
    default:
      return;  // Who asked for a track's status takes the answer.
  }
}

void OneStreamShape::ForgetIfOver(StreamId stream) {
  const auto found = lines_.find(stream);
  if (found == lines_.end() || !found->second.we_ended) {
    return;
  }
  const Line& line = found->second;
  const bool owed = line.own || (line.ours && !line.answered);
  const bool they_ended = line.they_ended;
  if (owed && !they_ended) {
    return;
  }
  lines_.erase(found);
  if (!they_ended) {
    streams_->OnStreamData(stream, {}, true);
  }
}

void OneStreamShape::SendControl(Bytes message) {
  Emit({kNobody, SendBytes{kControlStream, std::move(message), false}});
  if (!std::exchange(said_setup_, true)) {
    Grant();
  }
}

void OneStreamShape::Say(StreamId stream, uint64_t type, const std::string& body,
                         size_t session_bytes, std::optional<RequestId> new_id) {
  const auto line = lines_.find(stream);
  const StreamId target =
      line == lines_.end() ? kControlStream : line->second.own.value_or(kControlStream);
  Post({stream, SendBytes{target, Bytes::Of(Framed(type, body)), false}, session_bytes, new_id});
}

void OneStreamShape::Post(Piece piece) {
  const auto line = lines_.find(piece.line);
  const bool ahead = piece.new_id && *piece.new_id >= peer_max_;
  if (!ahead && (line == lines_.end() || line->second.held == 0)) {
    Emit(std::move(piece));
    return;
  }
  ++line->second.held;
  held_.push_back(std::move(piece));
  if (ahead && std::exchange(told_blocked_, peer_max_) != peer_max_) {
    Say(kNobody, kRequestsBlocked, Num(peer_max_));
  }
}

void OneStreamShape::Emit(Piece piece) {
  const auto* send = std::get_if<SendBytes>(&piece.action);
  if (send != nullptr && !send->bytes.empty()) {
    sent_[send->stream].push_back({piece.line, piece.session_bytes, send->bytes.size()});
  }
  const bool early = send != nullptr && send->stream == kControlStream && !control_open_;
  (early ? early_ : out_).push_back(std::move(piece.action));
}

void OneStreamShape::OpenControl() {
  control_open_ = true;
  for (; !early_.empty(); early_.pop_front()) {
    out_.push_back(std::move(early_.front()));
  }
}

void OneStreamShape::TellSessionItsAllowance() {
  const uint64_t more = peer_max_ > next_our_id_ ? (peer_max_ - next_our_id_ + 1) / 2 : 0;
  streams_->OnStreamsAllowed(opened_ + more);
}

}  // namespace kvcast::moqt::one_stream
