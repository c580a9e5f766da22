#include "kvcast/moqt/request_stream.h"

#include <string>
#include <utility>

#include "kvcast/moqt/auth_rules.h"
#include "kvcast/moqt/incoming_request.h"
#include "kvcast/moqt/request.h"

namespace kvcast::moqt {

Request* RequestStream::request() const {
  return request_ ? state_->requests.Find(*request_) : nullptr;
}

Decoded<void> RequestStream::OnData(std::span<const std::byte> bytes, bool fin) {
  fin_ = fin_ || fin;
  over_ = fin_;
  // What comes before SETUP waits for it, an answer to a request of ours as well.
  if (!state_->setup_received && !refused_ && !waiting_.Keep(bytes, std::nullopt)) {
    Refuse(static_cast<uint64_t>(ResetCode::kExcessiveLoad));
  }
  state_->credit.Arrived(stream_, bytes.size());
  if (waiting()) {
    return {};
  }
  return Run(bytes);
}

Decoded<void> RequestStream::Resume() {
  const std::string bytes = waiting_.Take();
  return Run(AsBytes(bytes));
}

Decoded<void> RequestStream::Run(std::span<const std::byte> bytes) {
  while (!refused_ && !bytes.empty()) {
    const std::optional<std::string> frame = frames_.Read(bytes);
    if (!frame) {
      break;
    }
    Decoded<void> done = OnFrame(*frame);
    if (done.ok()) {
      continue;
    }
    if (done.error().scope() == Fault::Scope::kSession) {
      return done;
    }
    if (Request* mine = request()) {
      mine->Fail(done.error().code(), done.error().reason());
    } else {
      Refuse(done.error().code());
    }
  }
  if (!partial_.Hold(refused_ ? 0 : frames_.held_bytes())) {
    Refuse(static_cast<uint64_t>(ResetCode::kExcessiveLoad));
    (void)partial_.Hold(0);
  }
  if (!fin_ || refused_) {
    return {};
  }
  if (frames_.midway() || !request_) {
    return Fault::Violation("A request stream ended within a message.");
  }
  if (Request* mine = request()) {
    mine->OnFin();
  }
  return {};
}

Decoded<void> RequestStream::OnFrame(const std::string& frame) {
  if (!request_) {
    KVCAST_TRY(Message message,
               state_->codec.Decode(frame, {Other(state_->role), false, std::nullopt, false}));
    KVCAST_TRY(request_, OpenIncomingRequest(*state_, stream_, std::move(message)));
    return {};
  }
  Request* mine = request();
  if (mine == nullptr || mine->over()) {
    if (!late_) {
      late_ = mine == nullptr ? LateMessages() : mine->late();
    }
    return OnLateFrame(frame, *late_);
  }
  KVCAST_TRY(Message message, state_->codec.Decode(frame, mine->place()));
  return mine->Receive(std::move(message));
}

void RequestStream::OnRequestGone(const Request& request) {
  if (!late_) {
    late_ = request.late();
  }
}

Decoded<void> RequestStream::OnLateFrame(const std::string& frame, LateMessages& late) {
  if (late.rule == LateMessages::Rule::kAny) {
    RetireAliasIn(frame);
    return {};
  }
  if (late.rule == LateMessages::Rule::kNone) {
    return Fault::Violation("A message follows the last one of its stream.");
  }
  KVCAST_TRY(const Message message, state_->codec.Decode(frame, late.place));
  if (const auto* away = std::get_if<GoAway>(&message)) {
    return Request::CheckGoAway(*away, state_->role, late.said_goaway);
  }
  if (const auto* update = std::get_if<RequestUpdate>(&message); update && late.updates) {
    KVCAST_TRY_VOID(state_->requests.NotePeerId(update->request_id));
    return CheckTokens(update->parameters);
  }
  if (std::holds_alternative<PublishDone>(message) && std::exchange(late.publish_done, false)) {
    return {};
  }
  const bool answers =
      std::holds_alternative<RequestOk>(message) || std::holds_alternative<RequestError>(message);
  if (answers && late.answers > 0) {
    --late.answers;
    return {};
  }
  return Fault::Violation(std::string(NameOf(KindOf(message))) +
                          " follows the end of its request.");
}

// The streams of a track we have left are known by its alias, and dropped.
void RequestStream::RetireAliasIn(const std::string& frame) {
  if (asked_ != MessageKind::kSubscribe) {
    return;
  }
  const Decoded<Message> late =
      state_->codec.Decode(frame, {Other(state_->role), false, asked_, false});
  const SubscribeOk* ok = late.ok() ? std::get_if<SubscribeOk>(&*late) : nullptr;
  if (ok != nullptr) {
    state_->requests.RetireAlias(ok->alias);
  }
}

void RequestStream::Refuse(uint64_t code) {
  refused_ = true;
  (void)waiting_.Take();
  if (request_) {
    if (Request* mine = request()) {
      mine->Fail(code, "The peer sent too much at once.");
    }
    return;  // One that is over has ended its half of the stream itself.
  }
  state_->outbox.Do(ResetStream{stream_, code});
  if (!over_) {
    state_->outbox.Do(StopSending{stream_, code});
  }
}

void RequestStream::OnReset(uint64_t code) {
  over_ = true;
  (void)waiting_.Take();
  if (Request* mine = request()) {
    mine->OnReset(code);
  } else if (!request_ && !std::exchange(refused_, true)) {
    state_->outbox.Do(ResetStream{stream_, code});  // Nothing was asked: our half ends too.
  }
}

void RequestStream::OnStopSending(uint64_t code) {
  if (Request* mine = request()) {
    mine->OnStopSending(code);
  } else if (!request_ && !refused_) {
    Refuse(code);
  }
}

}  // namespace kvcast::moqt
