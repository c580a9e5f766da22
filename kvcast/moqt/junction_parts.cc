#include <algorithm>
#include <utility>

#include "kvcast/base/check.h"
#include "kvcast/moqt/junction.h"

// What the parts of a junction do, as what is done on the connection.
namespace kvcast::moqt {
namespace {

constexpr auto kCancelled = static_cast<uint64_t>(ResetCode::kCancelled);

}  // namespace

// One part after the other: what one has to send waits in the connection by its urgency.
std::optional<TransportAction> Junction::NextAction() {
  for (size_t quiet = 0; actions_.empty() && quiet < parts_.size();) {
    const size_t part = turn_;
    std::optional<TransportAction> action = parts_[part].user->NextAction();
    if (!action) {
      turn_ = (turn_ + 1) % parts_.size();
      ++quiet;
      continue;
    }
    quiet = 0;
    if (std::optional<TransportAction> done = Translate(part, *std::move(action))) {
      if (actions_.empty()) {
        return done;
      }
      actions_.push_back(*std::move(done));
    }
  }
  if (actions_.empty()) {
    return std::nullopt;
  }
  TransportAction first = std::move(actions_.front());
  actions_.pop_front();
  return first;
}

std::optional<TransportAction> Junction::Translate(size_t part, TransportAction action) {
  if (closed_) {
    return std::nullopt;
  }
  return std::visit([&](auto& each) { return From(part, each); }, action);
}

StreamId Junction::UniOf(size_t part, StreamId stream) const {
  return (((stream >> 2) * parts_.size() + part) << 2) | (stream & 3);
}

std::pair<size_t, StreamId> Junction::PartOfUni(StreamId stream) const {
  const uint64_t place = stream >> 2;
  return {static_cast<size_t>(place % parts_.size()),
          ((place / parts_.size()) << 2) | (stream & 3)};
}

// The first one-way stream that a session opens is its control stream.
bool Junction::IsQuietControl(size_t part, StreamId stream) const {
  return IsUni(stream) && OpenerOf(stream) == Role::kServer && stream >> 2 == 0 &&
         part != options_.home;
}

std::optional<StreamId> Junction::NumberOf(size_t part, StreamId stream) const {
  if (OpenerOf(stream) == Role::kClient) {
    return stream;
  }
  if (IsUni(stream)) {
    return IsQuietControl(part, stream) ? std::nullopt : std::optional(UniOf(part, stream));
  }
  const auto found = parts_[part].numbers.find(stream);
  return found == parts_[part].numbers.end() ? std::nullopt : std::optional(found->second);
}

std::optional<TransportAction> Junction::From(size_t part, OpenStream& action) {
  if (IsUni(action.stream)) {
    const std::optional<StreamId> number = NumberOf(part, action.stream);
    return number ? std::optional<TransportAction>(OpenStream{*number, action.order})
                  : std::nullopt;
  }
  const StreamId number = next_bidi_++ * 4 + 1;
  parts_[part].numbers[action.stream] = number;
  ++parts_[part].opened;
  Bidi& bidi = bidis_[number];
  bidi.part = part;
  bidi.number = action.stream;
  TellAllowance();
  return OpenStream{number, action.order};
}

std::optional<TransportAction> Junction::From(size_t part, SendBytes& action) {
  const std::optional<StreamId> number = NumberOf(part, action.stream);
  if (!number) {
    return std::nullopt;
  }
  if (IsUni(action.stream)) {
    if (action.stream >> 2 == 0) {
      return SendControl(action);
    }
    action.stream = *number;
    return std::move(action);
  }
  const auto found = bidis_.find(*number);
  if (found == bidis_.end()) {
    parts_[part].user->OnBytesSent(action.stream, action.bytes.size());
    return std::nullopt;
  }
  Bidi& bidi = found->second;
  if (bidi.shared) {
    bidi.shared->OnSend(part, action.bytes, action.fin);
    TakeSteps(*number, bidi);
    ForgetIfOver(*number);
    return std::nullopt;
  }
  LookAtRequest(bidi, action.bytes);
  bidi.unsent += action.bytes.size();
  bidi.out_over = bidi.out_over || action.fin;
  action.stream = *number;
  ForgetIfOver(*number);
  return std::move(action);
}

// GOAWAY names the first request that was not heard, and the home has not heard all.
std::optional<TransportAction> Junction::SendControl(SendBytes& action) {
  const Decoded<Message> message =
      options_.codec->Decode(action.bytes.ToString(), {Role::kServer, true, std::nullopt, false});
  if (message.ok() && std::holds_alternative<GoAway>(*message)) {
    GoAway away = std::get<GoAway>(*message);
    if (away.request_id) {
      away.request_id = ids_.next();
    }
    action.bytes = options_.codec->Encode(away).value();
  }
  action.stream = UniOf(options_.home, action.stream);
  return std::move(action);
}

void Junction::LookAtRequest(Bidi& bidi, const Bytes& message) {
  if (std::exchange(bidi.asked, true)) {
    return;
  }
  const Decoded<Message> request =
      options_.codec->Decode(message.ToString(), {Role::kServer, false, std::nullopt, false});
  if (request.ok() && std::holds_alternative<Subscribe>(*request)) {
    bidi.answer.emplace(*options_.codec);
  }
}

void Junction::TakeSteps(StreamId stream, Bidi& bidi) {
  while (std::optional<SharedRequest::Step> step = bidi.shared->Next()) {
    if (auto* send = std::get_if<SharedRequest::Send>(&*step)) {
      bidi.unsent += send->bytes.size();
      bidi.out_over = bidi.out_over || send->fin;
      actions_.push_back(SendBytes{stream, std::move(send->bytes), send->fin});
    } else if (const auto* reset = std::get_if<SharedRequest::Reset>(&*step)) {
      bidi.unsent = 0;
      bidi.out_over = true;
      actions_.push_back(ResetStream{stream, reset->code});
    } else if (const auto* sent = std::get_if<SharedRequest::Sent>(&*step)) {
      parts_[sent->part].user->OnBytesSent(stream, sent->bytes);
    } else {
      const size_t part = std::get<SharedRequest::Cancel>(*step).part;
      parts_[part].user->OnStopSending(stream, kCancelled);
      if (!bidi.in_over) {
        parts_[part].user->OnStreamReset(stream, kCancelled);
      }
    }
  }
}

std::optional<TransportAction> Junction::From(size_t part, ResetStream& action) {
  const std::optional<StreamId> number = NumberOf(part, action.stream);
  if (!number) {
    return std::nullopt;
  }
  action.stream = *number;
  if (IsUni(*number)) {
    return action;
  }
  const auto found = bidis_.find(*number);
  if (found == bidis_.end()) {
    return std::nullopt;
  }
  if (found->second.shared) {
    found->second.shared->OnReset(part, action.code);
    TakeSteps(*number, found->second);
    ForgetIfOver(*number);
    return std::nullopt;
  }
  found->second.out_over = true;
  found->second.unsent = 0;
  ForgetIfOver(*number);
  return action;
}

std::optional<TransportAction> Junction::From(size_t part, StopSending& action) {
  const std::optional<StreamId> number = NumberOf(part, action.stream);
  if (!number) {
    return std::nullopt;
  }
  const auto found = IsUni(*number) ? bidis_.end() : bidis_.find(*number);
  if (found != bidis_.end() && found->second.shared) {
    Bidi& bidi = found->second;
    // One that was told it is cancelled has nothing to say that the peer does not hear anyway.
    if (bidi.shared->cancelled(part) || bidi.in_over || std::exchange(bidi.stopped, true)) {
      return std::nullopt;
    }
  }
  action.stream = *number;
  return action;
}

std::optional<TransportAction> Junction::From(size_t part, StreamCredit& action) {
  const std::optional<StreamId> number = NumberOf(part, action.stream);
  if (!number) {
    return std::nullopt;
  }
  action.stream = *number;
  if (part == options_.home) {
    return action;
  }
  // Of what all parts have heard, the home gives it.
  if (IsUni(*number)) {
    const auto found = unis_.find(*number);
    const bool shared =
        found != unis_.end() && std::holds_alternative<Uni::Control>(found->second.state);
    return shared ? std::nullopt : std::optional<TransportAction>(action);
  }
  const auto found = bidis_.find(*number);
  const bool shared = found != bidis_.end() && found->second.shared;
  return shared ? std::nullopt : std::optional<TransportAction>(action);
}

std::optional<TransportAction> Junction::From(size_t part, ConnectionCredit& action) {
  const uint64_t doubled = std::min(action.bytes, parts_[part].surplus);
  parts_[part].surplus -= doubled;
  action.bytes -= doubled;
  return action.bytes == 0 ? std::nullopt : std::optional<TransportAction>(action);
}

std::optional<TransportAction> Junction::From(size_t part, SendDatagram& action) {
  auto& [whose, waiting] = datagrams_[action.order.request];
  whose = part;
  ++waiting;
  return std::move(action);
}

std::optional<TransportAction> Junction::From(size_t part, ReorderStream& action) {
  const std::optional<StreamId> number = NumberOf(part, action.stream);
  if (!number) {
    return std::nullopt;
  }
  action.stream = *number;
  return action;
}

std::optional<TransportAction> Junction::From(size_t part, CloseConnection& action) {
  closed_ = true;
  for (size_t i = 0; i < parts_.size(); ++i) {
    if (i != part) {
      parts_[i].user->OnConnectionClosed(action.code, action.reason);
    }
  }
  return std::move(action);
}

}  // namespace kvcast::moqt
