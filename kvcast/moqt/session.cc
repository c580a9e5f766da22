#include "kvcast/moqt/session.h"

#include <tuple>
#include <utility>
#include <vector>

#include "kvcast/moqt/fetch_request.h"
#include "kvcast/moqt/publish_request.h"
#include "kvcast/moqt/subscribe_request.h"
#include "kvcast/moqt/track_status_request.h"

namespace kvcast::moqt {

Session::Session(Role role, const Setup& setup, const Limits& limits, Instant now,
                 const Codec& codec)
    : state_(role, codec, limits),
      control_(state_),
      our_control_(state_.OpenUni({SendOrder::Tier::kControl})),
      setup_deadline_(now + limits.setup_patience) {
  state_.now = now;
  Setup ours = setup;
  ours.auth_token_cache_bytes_max = 0;  // We keep none.
  state_.outbox.Do(SendBytes{our_control_, codec.Encode(ours).value(), false});
}

Session::~Session() = default;

void Session::OnStreamData(StreamId stream, std::span<const std::byte> bytes, bool fin) {
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

void Session::OnUniData(StreamId stream, std::span<const std::byte> bytes, bool fin) {
  if (OpenerOf(stream) == state_.role) {
    return;
  }
  const auto [found, is_new] = unis_.try_emplace(stream, stream, state_, control_);
  if (is_new) {
    state_.credit.Open(stream);
  }
  if (!Check(found->second.OnData(bytes, fin))) {
    return;
  }
  ForgetUni(found);
}

void Session::OnBidiData(StreamId stream, std::span<const std::byte> bytes, bool fin) {
  auto found = bidis_.find(stream);
  if (found == bidis_.end()) {
    if (OpenerOf(stream) == state_.role) {
      return;
    }
    found = bidis_
                .emplace(std::piecewise_construct, std::forward_as_tuple(stream),
                         std::forward_as_tuple(stream, std::nullopt, std::nullopt, state_))
                .first;
  }
  if (!Check(found->second.OnData(bytes, fin))) {
    return;
  }
  ForgetBidi(found);
}

void Session::OnStreamReset(StreamId stream, uint64_t code) {
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
  } else if (!IsUni(stream) && OpenerOf(stream) != state_.role) {
    // A request that was cancelled before a byte of it came. Our half ends too, or the stream would
    // stay open and count for ever.
    state_.outbox.Do(ResetStream{stream, code});
  }
  Settle();
}

void Session::OnStopSending(StreamId stream, uint64_t code) {
  if (closed_) {
    return;
  }
  if (stream == our_control_) {
    Close(SessionCode::kProtocolViolation, "The peer refused our control stream.");
    return;
  }
  if (IsUni(stream)) {
    const std::optional<RequestId> request = state_.ledger.RequestOf(stream);
    Request* found = request ? state_.requests.Find(*request) : nullptr;
    if (found != nullptr) {
      found->OnDataStopped(stream);
    }
  } else if (const auto bidi = bidis_.find(stream); bidi != bidis_.end()) {
    bidi->second.OnStopSending(code);
  }
  if (state_.ledger.RequestOf(stream)) {  // It had ended, and its last bytes still waited.
    state_.outbox.Do(ResetStream{stream, code});
    state_.ledger.Drop(stream);
  }
  Settle();
}

void Session::OnBytesSent(StreamId stream, uint64_t bytes) {
  if (closed_) {
    return;
  }
  if (const std::optional<RequestId> id = state_.ledger.RequestOf(stream)) {
    if (Request* request = state_.requests.Find(*id)) {
      request->OnBytesSent(stream, bytes);
    }
  }
  state_.ledger.Sent(stream, bytes);
}

void Session::OnDelivered(StreamId stream) {
  const auto found = state_.undelivered.find(stream);
  if (closed_ || found == state_.undelivered.end()) {
    return;
  }
  if (Request* request = state_.requests.Find(found->second)) {
    request->OnDelivered(stream);
  }
}

void Session::OnDatagram(std::span<const std::byte> bytes) {
  if (closed_) {
    return;
  }
  Decoded<std::optional<ObjectDatagram>> read = state_.codec.DecodeDatagram(bytes);
  if (!read.ok()) {
    (void)Check(std::move(read).error());
    return;
  }
  if (*read && !Hand(**read) && waiting_datagrams_.size() < state_.limits.waiting_datagrams_max) {
    waiting_datagrams_.push_back({**std::move(read), state_.now});
  }
  Settle();
}

bool Session::Hand(ObjectDatagram& datagram) {
  if (!state_.setup_received) {
    return false;
  }
  Request* request = state_.requests.FindAlias(datagram.alias);
  if (request == nullptr) {
    return state_.requests.IsRetired(datagram.alias);
  }
  if (!request->over()) {
    const Decoded<void> done = request->receiver()->OnDatagram(std::move(datagram));
    if (!done.ok()) {
      request->Fail(done.error().code(), done.error().reason());
    }
  }
  return true;
}

void Session::OnConnectionClosed(uint64_t code, std::string_view reason) {
  if (!std::exchange(closed_, true)) {
    state_.outbox.Close(SessionClosed{code, std::string(reason), true}, std::nullopt);
  }
}

void Session::OnTimeout(Instant now) {
  OnTime(now);
  if (closed_) {
    return;
  }
  if (!state_.setup_received && now >= setup_deadline_) {
    Close(SessionCode::kControlMessageTimeout, "SETUP did not come in time.");
    return;
  }
  if (goaway_deadline_ && now >= *goaway_deadline_) {
    const bool open = state_.requests.size() > 0;
    Close(open ? SessionCode::kGoAwayTimeout : SessionCode::kNoError,
          "The session ends, as was said.");
    return;
  }
  while (const std::optional<Timers::Key> due = state_.timers.TakeDue(now)) {
    if (Request* request = state_.requests.Find(due->request)) {
      request->OnTimer(due->kind);
    }
  }
  DropLongWaiting();
  Settle();
}

std::optional<Instant> Session::deadline() const {
  if (closed_) {
    return std::nullopt;
  }
  std::optional<Instant> first = state_.timers.next();
  std::optional<Instant> stream_deadline;
  if (const auto oldest = state_.waiting.oldest()) {
    stream_deadline = oldest->first + state_.limits.track_patience;
  }
  std::optional<Instant> datagram_deadline;
  if (!waiting_datagrams_.empty()) {
    datagram_deadline = waiting_datagrams_.front().since + state_.limits.track_patience;
  }
  for (const std::optional<Instant>& other :
       {state_.setup_received ? std::nullopt : std::optional(setup_deadline_), goaway_deadline_,
        stream_deadline, datagram_deadline}) {
    first = first && other ? std::min(first, other) : other ? other : first;
  }
  return first;
}

bool Session::Check(const Decoded<void>& done) {
  if (done.ok()) {
    return true;
  }
  KVCAST_CHECK(done.error().scope() == Fault::Scope::kSession);
  Close(static_cast<SessionCode>(done.error().code()), done.error().reason());
  return false;
}

void Session::Close(SessionCode code, const std::string& reason) {
  if (std::exchange(closed_, true)) {
    return;
  }
  const auto number = static_cast<uint64_t>(code);
  state_.outbox.Close(SessionClosed{number, reason, false}, CloseConnection{number, reason});
}

void Session::Settle() {
  // Each may give the other work: a track that begins lets streams go on, which may end requests.
  for (bool more = true; more && !closed_;) {
    const std::vector<uint64_t> aliases = state_.requests.TakeChangedAliases();
    const bool set_up = state_.setup_received && !std::exchange(was_set_up_, true);
    more = set_up || !aliases.empty() || !state_.ended.empty();
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
}

void Session::HandDatagrams() {
  std::erase_if(waiting_datagrams_, [this](WaitingDatagram& each) { return Hand(each.datagram); });
}

void Session::ResumeStreams(const WaitingStreams::Cause& cause) {
  for (const StreamId stream : state_.waiting.For(cause)) {
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
void Session::DropLongWaiting() {
  const Instant since = state_.now - state_.limits.track_patience;
  for (auto oldest = state_.waiting.oldest(); oldest && oldest->first <= since;
       oldest = state_.waiting.oldest()) {
    const auto uni = unis_.find(oldest->second);
    uni->second.Refuse(static_cast<uint64_t>(ResetCode::kCancelled));
    ForgetUni(uni);
  }
  std::erase_if(waiting_datagrams_,
                [since](const WaitingDatagram& each) { return each.since <= since; });
}

void Session::EndRequests() {
  for (const RequestId id : std::exchange(state_.ended, {})) {
    Request* request = state_.requests.Find(id);
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

void Session::EraseRequest(const Request& request) {
  const auto bidi = bidis_.find(request.stream());
  if (bidi != bidis_.end()) {
    bidi->second.OnRequestGone(request);
  }
  state_.requests.Erase(request.id());
  if (bidi != bidis_.end()) {
    ForgetBidi(bidi);
  }
}

void Session::ForgetUni(std::map<StreamId, UniStream>::iterator stream) {
  if (stream->second.over()) {
    state_.credit.Close(stream->first);
    unis_.erase(stream);
  }
}

void Session::ForgetBidi(std::map<StreamId, RequestStream>::iterator stream) {
  if (stream->second.over()) {
    state_.credit.Close(stream->first);
  }
  if (stream->second.done()) {
    bidis_.erase(stream);
  }
}

bool Session::HasOpenSubgroups(RequestId request, uint64_t first_group, uint64_t last_group) const {
  Request* found = state_.requests.Find(request);
  return found != nullptr && !found->over() && found->receiver() != nullptr &&
         found->receiver()->HasOpenStreams(first_group, last_group);
}

std::optional<Received> Session::Take(RequestId request) {
  Request* found = state_.requests.Find(request);
  ReceiveQueue* queue = found == nullptr ? nullptr : found->queue();
  if (queue == nullptr) {
    return std::nullopt;
  }
  std::optional<Received> item = queue->Take();
  if (found->over() && queue->empty()) {
    EraseRequest(*found);
  }
  return item;
}

}  // namespace kvcast::moqt
