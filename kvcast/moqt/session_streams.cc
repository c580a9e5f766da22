#include "kvcast/moqt/session_streams.h"

#include <algorithm>
#include <tuple>
#include <utility>
#include <vector>

namespace kvcast::moqt {

void SessionStreams::OnStreamData(StreamId stream, std::span<const std::byte> bytes, bool fin) {
  if (closed_) {
    return;
  }
  if (IsUni(stream)) {
    OnUniData(stream, bytes, fin);
  } else {
    OnBidiData(stream, bytes, fin);
  }
  Settle();
}

void SessionStreams::OnUniData(StreamId stream, std::span<const std::byte> bytes, bool fin) {
  if (OpenerOf(stream) == state_->role) {
    return;
  }
  const auto [found, is_new] = unis_.try_emplace(stream, stream, *state_, control_);
  if (is_new) {
    state_->credit.Open(stream);
    if (!state_->received.OpenStream()) {
      state_->received.NoteRefused();
      found->second.Refuse(static_cast<uint64_t>(ResetCode::kExcessiveLoad));
    }
  }
  if (!Check(found->second.OnData(bytes, fin))) {
    return;
  }
  ForgetUni(found);
}

void SessionStreams::OnBidiData(StreamId stream, std::span<const std::byte> bytes, bool fin) {
  auto found = bidis_.find(stream);
  if (found == bidis_.end()) {
    if (OpenerOf(stream) == state_->role) {
      return;
    }
    found = bidis_
                .emplace(std::piecewise_construct, std::forward_as_tuple(stream),
                         std::forward_as_tuple(stream, std::nullopt, std::nullopt, *state_))
                .first;
  }
  if (!Check(found->second.OnData(bytes, fin))) {
    return;
  }
  ForgetBidi(found);
}

void SessionStreams::OnControlFrame(const std::string& frame) {
  if (!closed_ && Check(control_.OnFrame(frame))) {
    Settle();
  }
}

void SessionStreams::SendControl(Bytes message) {
  if (!our_control_) {
    our_control_ = state_->OpenUni({SendOrder::Tier::kControl});
  }
  state_->outbox.Do(SendBytes{*our_control_, std::move(message), false});
}

void SessionStreams::Await(const Request& request) {
  const StreamId stream = request.stream();
  bidis_.emplace(std::piecewise_construct, std::forward_as_tuple(stream),
                 std::forward_as_tuple(stream, request.id(), request.kind(), *state_));
}

void SessionStreams::OnStreamReset(StreamId stream, uint64_t code) {
  if (closed_) {
    return;
  }
  if (const auto uni = unis_.find(stream); uni != unis_.end()) {
    if (Check(uni->second.OnReset(code))) {
      ForgetUni(uni);
    }
  } else if (const auto bidi = bidis_.find(stream); bidi != bidis_.end()) {
    bidi->second.OnReset(code);
    ForgetBidi(bidi);
  } else if (!IsUni(stream) && OpenerOf(stream) != state_->role) {
    // A request that was cancelled before a byte of it came. Our half ends too, or the stream would
    // stay open and count for ever.
    state_->outbox.Do(ResetStream{stream, code});
  }
  Settle();
}

void SessionStreams::OnStopSending(StreamId stream, uint64_t code) {
  if (closed_) {
    return;
  }
  if (stream == our_control_) {
    Close(SessionCode::kProtocolViolation, "The peer refused our control stream.");
    return;
  }
  if (IsUni(stream)) {
    const std::optional<RequestId> request = state_->ledger.RequestOf(stream);
    Request* found = request ? state_->requests.Find(*request) : nullptr;
    if (found != nullptr) {
      found->OnDataStopped(stream);
    }
  } else if (const auto bidi = bidis_.find(stream); bidi != bidis_.end()) {
    bidi->second.OnStopSending(code);
  }
  if (state_->ledger.RequestOf(stream)) {  // It had ended, and its last bytes still waited.
    state_->outbox.Do(ResetStream{stream, code});
    state_->ledger.Drop(stream);
  }
  Settle();
}

void SessionStreams::OnBytesSent(StreamId stream, uint64_t bytes) {
  if (closed_) {
    return;
  }
  if (const std::optional<RequestId> id = state_->ledger.RequestOf(stream)) {
    if (Request* request = state_->requests.Find(*id)) {
      request->OnBytesSent(stream, bytes);
    }
  }
  state_->ledger.Sent(stream, bytes);
  Settle();
}

void SessionStreams::OnDelivered(StreamId stream) {
  const auto found = state_->undelivered.find(stream);
  if (closed_ || found == state_->undelivered.end()) {
    return;
  }
  if (Request* request = state_->requests.Find(found->second)) {
    request->OnDelivered(stream);
  }
}

// Of many updates that came at once only the last one counts.
std::optional<TransportAction> SessionStreams::NextAction() {
  while (!state_->behind.empty() && state_->changes_left > 0) {
    const RequestId id = *state_->behind.begin();
    state_->behind.erase(state_->behind.begin());
    if (Request* const request = state_->requests.Find(id)) {
      request->sender()->CatchUp();
    }
  }
  return state_->outbox.NextAction();
}

void SessionStreams::OnDatagramsGone(RequestId request, uint64_t count) {
  Request* const found = closed_ ? nullptr : state_->requests.Find(request);
  if (found != nullptr) {
    found->OnDatagramsGone(count);
    Settle();
  }
}

void SessionStreams::OnDatagram(std::span<const std::byte> bytes) {
  if (closed_) {
    return;
  }
  Decoded<std::optional<ObjectDatagram>> read = state_->codec.DecodeDatagram(bytes);
  if (!read.ok()) {
    (void)Check(std::move(read).error());
    return;
  }
  if (*read && !Hand(**read) && waiting_datagrams_.size() < state_->limits.waiting_datagrams_max) {
    waiting_datagrams_.push_back({**std::move(read), state_->now});
  }
  Settle();
}

bool SessionStreams::Hand(ObjectDatagram& datagram) {
  if (!state_->setup_received) {
    return false;
  }
  Request* request = state_->requests.FindAlias(datagram.alias);
  if (request == nullptr) {
    return state_->requests.IsRetired(datagram.alias);
  }
  if (!request->over()) {
    const Decoded<void> done = request->receiver()->OnDatagram(std::move(datagram));
    if (!done.ok()) {
      request->Fail(done.error().code(), done.error().reason());
    }
  }
  return true;
}

void SessionStreams::OnConnectionClosed(uint64_t code, std::string_view reason) {
  if (!std::exchange(closed_, true)) {
    state_->outbox.Close(SessionClosed{code, std::string(reason), true}, std::nullopt);
  }
}

bool SessionStreams::Check(const Decoded<void>& done) {
  if (done.ok()) {
    return true;
  }
  KVCAST_CHECK(done.error().scope() == Fault::Scope::kSession);
  Close(static_cast<SessionCode>(done.error().code()), done.error().reason());
  return false;
}

void SessionStreams::Close(SessionCode code, const std::string& reason) {
  if (std::exchange(closed_, true)) {
    return;
  }
  const auto number = static_cast<uint64_t>(code);
  state_->outbox.Close(SessionClosed{number, reason, false}, CloseConnection{number, reason});
}

void SessionStreams::Settle() {
  state_->changes_left =
      std::min(SessionState::kChangesMax, state_->changes_left + SessionState::kChangesPerInput);
  // Each may give the other work: a track that begins lets streams go on, which may end requests.
  for (bool more = true; more && !closed_;) {
    const std::vector<uint64_t> aliases = state_->requests.TakeChangedAliases();
    const bool set_up = state_->setup_received && !std::exchange(was_set_up_, true);
    more = ReadOn() || set_up || !aliases.empty() || !state_->ended.empty();
    if (set_up || !aliases.empty()) {
      HandDatagrams();
    }
    if (set_up) {
      ResumeStreams(std::nullopt);
    }
    for (const uint64_t alias : aliases) {
      ResumeStreams(alias);
    }
    EndRequests();
  }
  if (state_->credit.full()) {
    OnNoRoom();
  }
  if (state_->received.TakeWanting()) {
    state_->outbox.Tell(RoomWanted{});
  }
}

bool SessionStreams::ReadOn() {
  bool any = false;
  for (auto next = state_->credit.Resume(); next && !closed_; next = state_->credit.Resume()) {
    const auto uni = unis_.find(*next);
    KVCAST_CHECK(uni != unis_.end());
    any = true;
    if (Check(uni->second.ReadOn())) {
      ForgetUni(uni);
    }
  }
  return any;
}

void SessionStreams::HandDatagrams() {
  std::erase_if(waiting_datagrams_, [this](WaitingDatagram& each) { return Hand(each.datagram); });
}

void SessionStreams::ResumeStreams(const WaitingStreams::Cause& cause) {
  for (const StreamId stream : state_->waiting.For(cause)) {
    if (closed_) {
      return;
    }
    if (const auto uni = unis_.find(stream); uni != unis_.end()) {
      if (Check(uni->second.Resume())) {
        ForgetUni(uni);
      }
    } else if (const auto bidi = bidis_.find(stream); bidi != bidis_.end()) {
      if (Check(bidi->second.Resume())) {
        ForgetBidi(bidi);
      }
    }
  }
}

// Their track will not come any more.
void SessionStreams::DropLongWaiting() {
  const Instant since = state_->now - state_->limits.track_patience;
  for (auto oldest = state_->waiting.oldest(); oldest && oldest->first <= since;
       oldest = state_->waiting.oldest()) {
    const auto uni = unis_.find(oldest->second);
    uni->second.Refuse(static_cast<uint64_t>(ResetCode::kCancelled));
    ForgetUni(uni);
  }
  std::erase_if(waiting_datagrams_,
                [since](const WaitingDatagram& each) { return each.since <= since; });
}

std::optional<Instant> SessionStreams::deadline() const {
  std::optional<Instant> since;
  if (const auto oldest = state_->waiting.oldest()) {
    since = oldest->first;
  }
  if (!waiting_datagrams_.empty()) {
    since = std::min(since.value_or(Instant::max()), waiting_datagrams_.front().since);
  }
  std::optional<Instant> due = room_due();
  if (since) {
    due = std::min(due.value_or(Instant::max()), *since + state_->limits.track_patience);
  }
  return due;
}

void SessionStreams::OnNoRoom() {
  const uint64_t cleared = state_->credit.times_cleared();
  if (!no_room_since_ || times_cleared_ != cleared) {
    no_room_since_ = state_->now;
    times_cleared_ = cleared;
  }
}

// Who is alone is not in anybody's way, and may take as long as they like.
std::optional<Instant> SessionStreams::room_due() const {
  const CreditBook& credit = state_->credit;
  if (!no_room_since_ || credit.times_cleared() != times_cleared_ || !credit.crowded() ||
      !credit.largest()) {
    return std::nullopt;
  }
  const auto takes_all = [this](RequestId id) {
    Request* const request = state_->requests.Find(id);
    return !request->over() && request->queue() != nullptr && request->queue()->empty();
  };
  return std::ranges::any_of(state_->requests.Ids(), takes_all)
             ? std::optional(*no_room_since_ + state_->limits.room_patience)
             : std::nullopt;
}

void SessionStreams::MakeRoom() {
  for (auto due = room_due(); due && *due <= state_->now; due = room_due()) {
    GiveUpUntaken(*state_->requests.Find(*state_->credit.largest()));
    Settle();
  }
}

void SessionStreams::GiveUpUntaken(Request& request) {
  constexpr auto kCode = static_cast<uint64_t>(ResetCode::kExcessiveLoad);
  const std::string reason = "What nobody took was in the way of other requests.";
  if (request.over()) {
    state_->outbox.Tell(RequestCancelled{request.id(), kCode, reason});
    request.queue()->Clear();
    EraseRequest(request);
  } else {
    request.Fail(kCode, reason);
    request.queue()->Clear();
  }
}

void SessionStreams::GiveUpReceived(size_t bytes) {
  const size_t before = state_->received.bytes();
  const size_t least = before - std::min(before, bytes);
  while (!closed_ && state_->received.bytes() > least) {
    const CreditBook::Heap most = state_->credit.LargestHeap();
    const size_t at = state_->received.bytes();
    if (most.stream) {
      const auto uni = unis_.find(*most.stream);
      uni->second.Refuse(static_cast<uint64_t>(ResetCode::kExcessiveLoad));
      ForgetUni(uni);
    } else if (most.request) {
      GiveUpUntaken(*state_->requests.Find(*most.request));
    }
    Settle();
    if (state_->received.bytes() >= at) {
      return;  // The rest is of messages, which are bounded by themselves.
    }
    state_->received.NoteRefused();
  }
}

void SessionStreams::EndRequests() {
  for (const RequestId id : std::exchange(state_->ended, {})) {
    Request* request = state_->requests.Find(id);
    if (request == nullptr) {
      continue;
    }
    const std::set<StreamId> streams = request->data_streams();
    for (const StreamId stream : streams) {
      if (const auto uni = unis_.find(stream); uni != unis_.end()) {
        uni->second.Refuse(static_cast<uint64_t>(ResetCode::kCancelled));
        ForgetUni(uni);
      }
    }
    if (request->queue() == nullptr || request->queue()->empty()) {
      EraseRequest(*request);
    }
  }
}

void SessionStreams::EraseRequest(const Request& request) {
  const auto bidi = bidis_.find(request.stream());
  if (bidi != bidis_.end()) {
    bidi->second.OnRequestGone(request);
  }
  state_->requests.Erase(request.id());
  if (bidi != bidis_.end()) {
    ForgetBidi(bidi);
  }
}

void SessionStreams::ForgetUni(std::map<StreamId, UniStream>::iterator stream) {
  if (stream->second.over()) {
    state_->credit.Close(stream->first);
    state_->received.CloseStream();
    unis_.erase(stream);
  }
}

void SessionStreams::ForgetBidi(std::map<StreamId, RequestStream>::iterator stream) {
  if (stream->second.over()) {
    state_->credit.Close(stream->first);
  }
  if (stream->second.done()) {
    bidis_.erase(stream);
  }
}

}  // namespace kvcast::moqt
