#include "kvcast/moqt/one_stream_shape_test.h"

#include <algorithm>
#include <utility>

#include "kvcast/moqt/draft_wire_test.h"

namespace kvcast::moqt::one_stream {

using draft::Framed;
using draft::Num;
using draft::Reader;

namespace {

constexpr auto kCancelled = static_cast<uint64_t>(ResetCode::kCancelled);

}  // namespace

OneStreamShape::OneStreamShape(SessionState& state, SessionStreams& streams)
    : state_(&state), streams_(&streams), next_our_id_(state.role == Role::kClient ? 0 : 1) {
  TellSessionItsAllowance();
  if (state.role == Role::kClient) {
    out_.push_back(OpenStream{kControlStream, {SendOrder::Tier::kControl}});
    OpenControl();
  }
}

OneStreamShape::Frame OneStreamShape::Split(std::string_view whole) {
  Reader reader(whole);
  const uint64_t type = reader.TakeNum();
  (void)reader.Take(2);
  return {type, std::string(reader.Take(reader.remaining()))};
}

OneStreamShape::Lines::iterator OneStreamShape::FindById(RequestId id) {
  return std::ranges::find_if(lines_, [id](const auto& each) { return each.second.id == id; });
}

OneStreamShape::Lines::iterator OneStreamShape::FindOwn(StreamId stream) {
  return std::ranges::find_if(lines_,
                              [stream](const auto& each) { return each.second.own == stream; });
}

bool OneStreamShape::WasUsed(RequestId id) const {
  return id < (id % 2 == next_our_id_ % 2 ? next_our_id_ : next_their_id_);
}

Decoded<void> OneStreamShape::Absent(RequestId id) const {
  if (!WasUsed(id)) {
    return Fault::Violation("A message names request " + std::to_string(id) + ", which never was.");
  }
  return {};
}

Decoded<void> OneStreamShape::OnStreamData(StreamId stream, std::span<const std::byte> bytes,
                                           bool fin) {
  if (IsUni(stream)) {
    streams_->OnStreamData(stream, bytes, fin);
    return {};
  }
  Pump();
  const bool ours = stream != kControlStream && OpenerOf(stream) == state_->role;
  if (ours && FindOwn(stream) == lines_.end()) {
    return {};  // It is over.
  }
  if (stream == kControlStream) {
    OpenControl();
  }
  if (!bytes.empty()) {
    out_.push_back(StreamCredit{stream, bytes.size()});
  }
  KVCAST_TRY_VOID(ReadFrames(stream, bytes));
  if (fin && stream == kControlStream) {
    return Fault::Violation("The peer ended the control stream.");
  }
  return fin ? OnOwnFin(stream) : Decoded<void>();
}

Decoded<void> OneStreamShape::ReadFrames(StreamId stream, std::span<const std::byte> bytes) {
  FrameReader& reader = readers_.try_emplace(stream, state_->codec).first->second;
  while (!bytes.empty() && !streams_->closed()) {
    const std::optional<std::string> frame = reader.Read(bytes);
    if (!frame) {
      break;
    }
    uncredited_ += static_cast<int64_t>(frame->size());
    KVCAST_TRY_VOID(stream == kControlStream ? OnControl(*frame) : OnOwn(stream, *frame));
    Pump();
    if (uncredited_ > 0) {
      out_.push_back(ConnectionCredit{static_cast<uint64_t>(std::exchange(uncredited_, 0))});
    }
  }
  return {};
}

Decoded<void> OneStreamShape::OnControl(const std::string& whole) {
  const Frame frame = Split(whole);
  if (!heard_setup_ && frame.type != kSetup) {
    return Fault::Violation("The control stream does not begin with SETUP.");
  }
  switch (frame.type) {
    case kSetup:
    case kGoAway:
      heard_setup_ = true;
      streams_->OnControlFrame(whole);
      return {};
    case kSubscribe:
    case kPublish:
    case kFetch:
    case kTrackStatus:
    case kPublishNamespace:
      return OpenTheirs(whole, std::nullopt);
    case kRequestOk:
    case kRequestError:
    case kSubscribeOk:
    case kFetchOk:
      return OnAnswer(frame);
    case kRequestUpdate:
      return OnUpdate(frame);
    case kPublishDone:
      return OnPublishDone(frame);
    case kUnsubscribe:
    case kFetchCancel:
    case kPublishNamespaceDone:
    case kPublishNamespaceCancel:
      return OnEnd(frame);
    case kMaxRequestId:
      return OnMaxRequestId(frame);
    case kRequestsBlocked:
      return {};  // It gets more as it uses what it has.
    default:
      return Fault::Violation("A message may not stand on the control stream.");
  }
}

Decoded<void> OneStreamShape::OnOwn(StreamId stream, const std::string& whole) {
  const Frame frame = Split(whole);
  const auto line = FindOwn(stream);
  if (line == lines_.end()) {
    return HasOwnStream(frame.type)
               ? OpenTheirs(whole, stream)
               : Fault::Violation("Only a subscription to a prefix has a stream of its own.");
  }
  switch (frame.type) {
    case kRequestOk:
    case kRequestError:
      return OnAnswer(frame);
    case kRequestUpdate:
      return OnUpdate(frame);
    case kNamespace:
    case kNamespaceDone:
    case kPublishBlocked:
      Hand(line->first, whole, false);
      return {};
    default:
      return Fault::Violation("A message may not stand on its stream.");
  }
}

Decoded<void> OneStreamShape::OnOwnFin(StreamId stream) {
  const auto line = FindOwn(stream);
  if (line == lines_.end() || readers_.at(stream).midway()) {
    return Fault::Violation("A stream ended within a message.");
  }
  const StreamId mine = line->first;
  line->second.they_ended = true;
  readers_.erase(stream);
  streams_->OnStreamData(mine, {}, true);
  Pump();
  ForgetIfOver(mine);
  return {};
}

Decoded<void> OneStreamShape::OnStreamReset(StreamId stream, uint64_t code) {
  if (IsUni(stream)) {
    streams_->OnStreamReset(stream, code);
    return {};
  }
  if (stream == kControlStream) {
    return Fault::Violation("The peer reset the control stream.");
  }
  Pump();
  readers_.erase(stream);
  const auto line = FindOwn(stream);
  if (line == lines_.end()) {
    if (OpenerOf(stream) != state_->role) {
      out_.push_back(ResetStream{stream, code});  // Nothing was asked: our half ends too.
    }
    return {};
  }
  const StreamId mine = line->first;
  line->second.they_ended = true;
  streams_->OnStreamReset(mine, code);
  Pump();
  ForgetIfOver(mine);
  return {};
}

Decoded<void> OneStreamShape::OnStopSending(StreamId stream, uint64_t code) {
  if (IsUni(stream)) {
    streams_->OnStopSending(stream, code);
    return {};
  }
  if (stream == kControlStream) {
    return Fault::Violation("The peer refused the control stream.");
  }
  Pump();
  const auto line = FindOwn(stream);
  if (line != lines_.end()) {
    streams_->OnStopSending(line->first, code);
  }
  return {};
}

void OneStreamShape::OnBytesSent(StreamId stream, uint64_t bytes) {
  if (IsUni(stream)) {
    streams_->OnBytesSent(stream, bytes);
    return;
  }
  std::deque<Sent>& waiting = sent_[stream];
  while (bytes > 0 && !waiting.empty()) {
    Sent& first = waiting.front();
    const size_t counted = static_cast<size_t>(std::min<uint64_t>(bytes, first.left));
    bytes -= counted;
    first.left -= counted;
    if (first.left == 0) {
      streams_->OnBytesSent(first.line, first.session_bytes);
      waiting.pop_front();
    }
  }
}

Decoded<void> OneStreamShape::NotePeerId(RequestId id) {
  if (id >= granted_) {
    return Fault::Session(kTooManyRequests, "The peer uses ids that it was not granted.");
  }
  next_their_id_ = std::max(next_their_id_, id + 2);
  if (next_their_id_ + kRequestsAhead > granted_) {
    Grant();
  }
  return {};
}

void OneStreamShape::Grant() {
  granted_ += 2 * kRequestsAhead;
  Say(kNobody, kMaxRequestId, Num(granted_));
}

Decoded<void> OneStreamShape::OnMaxRequestId(const Frame& frame) {
  std::string body = frame.body;
  const RequestId most = TakeId(body);
  if (most <= peer_max_) {
    return Fault::Violation("MAX_REQUEST_ID does not rise.");
  }
  peer_max_ = most;
  TellSessionItsAllowance();
  while (!held_.empty() && held_.front().new_id.value_or(0) < peer_max_) {
    Piece piece = std::move(held_.front());
    held_.pop_front();
    if (const auto line = lines_.find(piece.line); line != lines_.end()) {
      --line->second.held;
    }
    Emit(std::move(piece));
  }
  return {};
}

Decoded<void> OneStreamShape::OpenTheirs(const std::string& whole, std::optional<StreamId> own) {
  const Frame frame = Split(whole);
  std::string body = frame.body;
  const RequestId id = TakeId(body);
  KVCAST_TRY_VOID(NotePeerId(id));
  const StreamId stream = next_theirs_++ * 4 + (state_->role == Role::kClient ? 1 : 0);
  // An id that the session finds to be wrong is its fault to tell.
  lines_[stream] = Line{id, frame.type, false, own};
  Hand(stream, whole, false);
  return {};
}

Decoded<void> OneStreamShape::OnAnswer(const Frame& frame) {
  std::string body = frame.body;
  const RequestId id = TakeId(body);
  const auto update = std::ranges::find_if(lines_, [id](const auto& each) {
    return std::ranges::find(each.second.our_updates, id) != each.second.our_updates.end();
  });
  if (update != lines_.end()) {
    OnUpdateAnswer(update, id, Framed(frame.type, body));
    return {};
  }
  const auto found = FindById(id);
  if (found == lines_.end()) {
    return Absent(id);
  }
  const StreamId stream = found->first;
  Line& line = found->second;
  if (!line.ours || line.they_ended || std::exchange(line.answered, true)) {
    return Fault::Violation("A request is answered twice, or by who asked.");
  }
  const bool last =
      !line.own && (frame.type == kRequestError || line.asked == kTrackStatus || line.we_ended);
  line.they_ended = line.they_ended || last;
  Hand(stream, Framed(frame.type, body), last);
  ForgetIfOver(stream);
  return {};
}

// The session expects answers in the order of its updates.
void OneStreamShape::OnUpdateAnswer(Lines::iterator line, RequestId update, std::string answer) {
  const StreamId stream = line->first;
  line->second.early_answers.emplace(update, std::move(answer));
  while (line != lines_.end() && !line->second.they_ended && !line->second.our_updates.empty()) {
    auto next = line->second.early_answers.extract(line->second.our_updates.front());
    if (next.empty()) {
      return;
    }
    line->second.our_updates.pop_front();
    Hand(stream, next.mapped(), false);
    line = lines_.find(stream);
  }
}

Decoded<void> OneStreamShape::OnUpdate(const Frame& frame) {
  std::string body = frame.body;
  const RequestId id = TakeId(body);
  const RequestId existing = TakeId(body);
  KVCAST_TRY_VOID(NotePeerId(id));
  const auto line = FindById(existing);
  if (line == lines_.end() || line->second.we_ended) {
    KVCAST_TRY_VOID(Absent(existing));
    Say(kNobody, kRequestError, Num(id) + SomeError());
    return {};
  }
  if (line->second.they_ended) {
    return Fault::Violation("A request is changed that the peer has ended.");
  }
  line->second.their_updates.push_back(id);
  Hand(line->first, Framed(kRequestUpdate, Num(id) + body), false);
  return {};
}

Decoded<void> OneStreamShape::OnPublishDone(const Frame& frame) {
  std::string body = frame.body;
  const RequestId id = TakeId(body);
  const auto found = FindById(id);
  if (found == lines_.end() || found->second.we_ended) {
    return Absent(id);
  }
  const StreamId stream = found->first;
  if (std::exchange(found->second.they_ended, true)) {
    return Fault::Violation("A track ends twice.");
  }
  Hand(stream, Framed(kPublishDone, body), true);
  ForgetIfOver(stream);
  return {};
}

// Each is for requests of one kind: a subscriber's UNSUBSCRIBE is for what we publish.
Decoded<void> OneStreamShape::OnEnd(const Frame& frame) {
  std::string body = frame.body;
  const RequestId id = TakeId(body);
  const auto found = FindById(id);
  if (found == lines_.end()) {
    return Absent(id);
  }
  const Line& line = found->second;
  const bool fits =
      (frame.type == kUnsubscribe && line.asked == (line.ours ? kPublish : kSubscribe)) ||
      (frame.type == kFetchCancel && line.asked == kFetch && !line.ours) ||
      (frame.type == kPublishNamespaceDone && line.asked == kPublishNamespace && !line.ours) ||
      (frame.type == kPublishNamespaceCancel && line.asked == kPublishNamespace && line.ours);
  if (!fits || line.they_ended) {
    return Fault::Violation("A request is ended that cannot be, or not so.");
  }
  const StreamId stream = found->first;
  const uint64_t code = frame.type == kPublishNamespaceCancel ? Reader(body).TakeNum() : kCancelled;
  found->second.they_ended = true;
  streams_->OnStreamReset(stream, code);
  streams_->OnStopSending(stream, code);
  Pump();
  ForgetIfOver(stream);
  return {};
}

void OneStreamShape::Hand(StreamId line, const std::string& frame, bool fin) {
  uncredited_ -= static_cast<int64_t>(frame.size());
  streams_->OnStreamData(line, AsBytes(frame), fin);
  Pump();
}

}  // namespace kvcast::moqt::one_stream
