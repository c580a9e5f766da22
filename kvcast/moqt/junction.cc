#include "kvcast/moqt/junction.h"

#include <algorithm>
#include <utility>

#include "kvcast/base/check.h"

namespace kvcast::moqt {
namespace {

// The peer's own messages, where a request begins.
constexpr MessagePlace kRequestPlace{Role::kClient, false, std::nullopt, false};

std::optional<uint64_t> IdOf(const Message& message) {
  return std::visit(
      [](const auto& body) -> std::optional<uint64_t> {
        if constexpr (requires { body.request_id + 0; }) {
          return body.request_id;
        } else {
          return std::nullopt;
        }
      },
      message);
}

bool IsShared(MessageKind kind) {
  return kind == MessageKind::kPublishNamespace || kind == MessageKind::kSubscribeNamespace ||
         kind == MessageKind::kSubscribeTracks;
}

}  // namespace

Junction::Junction(Options options, std::vector<std::unique_ptr<TransportUser>> parts)
    : options_(std::move(options)) {
  for (std::unique_ptr<TransportUser>& user : parts) {
    parts_.push_back({std::move(user), {}, 0, 0});
  }
  KVCAST_CHECK(options_.home < parts_.size());
}

Junction::~Junction() = default;

void Junction::OnTime(Instant now) {
  now_ = std::max(now_, now);
  for (const Part& part : parts_) {
    part.user->OnTime(now);
  }
  DropLongWaiting();
}

bool Junction::MayOpenMore() const {
  return std::ranges::all_of(parts_, [](const Part& part) { return part.user->MayOpenMore(); });
}

void Junction::OnStreamsUsedUp() {
  for (const Part& part : parts_) {
    part.user->OnStreamsUsedUp();
  }
}

void Junction::OnStreamsAllowed(uint64_t bidi_total) {
  allowed_ = bidi_total;
  TellAllowance();
}

// Any of them may have what is left; if two take the last one, one of them waits until it is let.
void Junction::TellAllowance() {
  if (!allowed_) {
    return;
  }
  const uint64_t left = *allowed_ > next_bidi_ ? *allowed_ - next_bidi_ : 0;
  for (const Part& part : parts_) {
    part.user->OnStreamsAllowed(part.opened + left);
  }
}

void Junction::OnConnectionClosed(uint64_t code, std::string_view reason) {
  if (!std::exchange(closed_, true)) {
    for (const Part& part : parts_) {
      part.user->OnConnectionClosed(code, reason);
    }
  }
}

void Junction::Fail(SessionCode code, const std::string& reason) {
  if (std::exchange(closed_, true)) {
    return;
  }
  const auto number = static_cast<uint64_t>(code);
  actions_.push_back(CloseConnection{number, reason});
  for (const Part& part : parts_) {
    part.user->OnConnectionClosed(number, reason);
  }
}

void Junction::OnStreamData(StreamId stream, std::span<const std::byte> bytes, bool fin) {
  if (closed_) {
    return;
  }
  if (IsUni(stream)) {
    OnUniData(stream, bytes, fin);
    return;
  }
  const bool is_peers = OpenerOf(stream) == Role::kClient;
  auto found = bidis_.find(stream);
  if (found == bidis_.end() && !is_peers) {
    return;
  }
  if (found == bidis_.end()) {
    found = bidis_.try_emplace(stream).first;
    found->second.first.emplace(*options_.codec);
    found->second.number = stream;
    found->second.asked = true;
  }
  Bidi& bidi = found->second;
  bidi.in_over = bidi.in_over || fin;
  if (bidi.first || bidi.joins) {
    OnFirstData(stream, bidi, bytes, fin);
  } else if (bidi.shared) {
    Share(stream, bidi, bytes, fin);
  } else {
    if (bidi.answer) {
      ReadAnswer(bidi, bytes);
    }
    parts_[bidi.part].user->OnStreamData(bidi.number, bytes, fin);
  }
  if (fin && bidi.alias) {
    RetireAlias(*std::exchange(bidi.alias, std::nullopt));
  }
  ForgetIfOver(stream);
}

void Junction::OnFirstData(StreamId stream, Bidi& bidi, std::span<const std::byte> bytes,
                           bool fin) {
  bidi.held += AsText(bytes);
  bidi.held_fin = bidi.held_fin || fin;
  if (bidi.joins) {
    return;
  }
  const std::optional<std::string> frame = bidi.first->Read(bytes);
  if (frame) {
    bidi.first.reset();
    Route(stream, bidi, *frame);
  } else if (fin) {
    HandHome(stream, bidi);  // Which finds that it ended within a message.
  }
}

void Junction::Route(StreamId stream, Bidi& bidi, const std::string& frame) {
  const Decoded<Message> message = options_.codec->Decode(frame, kRequestPlace);
  bidi.part = options_.home;  // Where it is found what is wrong with it.
  if (message.ok()) {
    const std::optional<uint64_t> id = IdOf(*message);
    if (id && !ids_.Add(*id)) {
      Fail(SessionCode::kInvalidRequestId,
           "Request id " + std::to_string(*id) + " is not the peer's, or not new.");
      return;
    }
    if (IsShared(KindOf(*message))) {
      bidi.shared = std::make_unique<SharedRequest>(*options_.codec, KindOf(*message),
                                                    parts_.size(), options_.home);
    } else {
      const std::optional<size_t> part = PartOf(stream, bidi, *message);
      if (!part || closed_) {
        return;
      }
      bidi.part = *part;
    }
    HandHeld(stream, bidi);
    if (id) {
      ResolveJoins(*id);
    }
    return;
  }
  HandHeld(stream, bidi);
}

// Absent: it has to wait.
std::optional<size_t> Junction::PartOf(StreamId stream, Bidi& bidi, const Message& message) {
  if (const auto* subscribe = std::get_if<Subscribe>(&message)) {
    const size_t part = options_.part_of(subscribe->track.space());
    bidi.joinable = subscribe->request_id;
    joinable_[subscribe->request_id] = part;
    return part;
  }
  if (const auto* publish = std::get_if<Publish>(&message)) {
    const size_t part = options_.part_of(publish->track.space());
    const auto alias = aliases_.find(publish->alias);
    if (alias != aliases_.end() && alias->second.live) {
      Fail(SessionCode::kDuplicateTrackAlias,
           "Two tracks have the alias " + std::to_string(publish->alias) + ".");
      return std::nullopt;
    }
    bidi.alias = publish->alias;
    AddAlias(publish->alias, part);
    return part;
  }
  if (const auto* status = std::get_if<TrackStatus>(&message)) {
    return options_.part_of(status->track.space());
  }
  if (const auto* fetch = std::get_if<Fetch>(&message)) {
    if (fetch->type == Fetch::Type::kStandalone) {
      return options_.part_of(fetch->track.space());
    }
    const std::optional<size_t> part = PartOfJoined(bidi, *fetch);
    if (!part) {
      early_joins_.emplace(*bidi.joins, stream);
    }
    return part;
  }
  return options_.home;
}

// A fetch joins a subscription of the peer's, or one that a part began by PUBLISH.
std::optional<size_t> Junction::PartOfJoined(Bidi& bidi, const Fetch& fetch) {
  const uint64_t joined = fetch.joined_request_id;
  if (joined % 2 == 1) {
    return joined / 2 % parts_.size();
  }
  if (const auto found = joinable_.find(joined); found != joinable_.end()) {
    return found->second;
  }
  if (joined < fetch.request_id && !ids_.Has(joined) &&
      early_joins_.size() < options_.limits.waiting_streams_max) {
    bidi.joins = joined;
    return std::nullopt;
  }
  return options_.home;  // Which has no such subscription.
}

void Junction::ResolveJoins(uint64_t request) {
  for (auto join = early_joins_.find(request); join != early_joins_.end();
       join = early_joins_.find(request)) {
    const StreamId stream = join->second;
    early_joins_.erase(join);
    const auto found = bidis_.find(stream);
    if (found != bidis_.end() && found->second.joins) {
      const auto joined = joinable_.find(request);
      found->second.joins.reset();
      found->second.part = joined != joinable_.end() ? joined->second : options_.home;
      HandHeld(stream, found->second);
    }
  }
}

void Junction::HandHeld(StreamId stream, Bidi& bidi) {
  const std::string held = std::exchange(bidi.held, {});
  if (bidi.shared) {
    Share(stream, bidi, AsBytes(held), bidi.held_fin);
  } else {
    parts_[bidi.part].user->OnStreamData(stream, AsBytes(held), bidi.held_fin);
  }
}

// What cannot be told whose it is, or will not be: the home does with it what is to be done.
void Junction::HandHome(StreamId stream, Bidi& bidi) {
  bidi.first.reset();
  bidi.joins.reset();
  bidi.part = options_.home;
  HandHeld(stream, bidi);
}

bool Junction::Hears(const Bidi& bidi, size_t part) const {
  return bidi.shared ? !bidi.shared->cancelled(part) : bidi.part == part;
}

// Each part gives credit for what it is told, and the home's is what counts.
void Junction::Share(StreamId stream, Bidi& bidi, std::span<const std::byte> bytes, bool fin) {
  bidi.shared->OnInput(bytes);
  for (size_t i = 0; i < parts_.size(); ++i) {
    if (Hears(bidi, i)) {
      parts_[i].surplus += i == options_.home ? 0 : bytes.size();
      parts_[i].user->OnStreamData(stream, bytes, fin);
    } else if (i == options_.home) {
      Drop(bytes.size());
    }
  }
}

void Junction::ReadAnswer(Bidi& bidi, std::span<const std::byte> bytes) {
  const std::optional<std::string> frame = bidi.answer->Read(bytes);
  if (!frame) {
    return;
  }
  bidi.answer.reset();
  const Decoded<Message> message =
      options_.codec->Decode(*frame, {Role::kClient, false, MessageKind::kSubscribe, false});
  const SubscribeOk* const ok = message.ok() ? std::get_if<SubscribeOk>(&*message) : nullptr;
  const auto alias = ok != nullptr ? aliases_.find(ok->alias) : aliases_.end();
  if (ok != nullptr && (alias == aliases_.end() || !alias->second.live)) {
    bidi.alias = ok->alias;
    AddAlias(ok->alias, bidi.part);
  } else if (ok != nullptr) {
    Fail(SessionCode::kDuplicateTrackAlias,
         "Two tracks have the alias " + std::to_string(ok->alias) + ".");
  }
}

void Junction::OnStreamReset(StreamId stream, uint64_t code) {
  if (closed_) {
    return;
  }
  if (IsUni(stream)) {
    const auto found = unis_.find(stream);
    if (found == unis_.end()) {
      return;
    }
    if (const auto* routed = std::get_if<Uni::Routed>(&found->second.state)) {
      parts_[routed->part].user->OnStreamReset(stream, code);
    } else if (auto* waiting = std::get_if<Uni::Waiting>(&found->second.state)) {
      waiting_bytes_ -= waiting->bytes.size();
      --waiting_streams_;
    } else if (std::holds_alternative<Uni::Control>(found->second.state)) {
      for (const Part& part : parts_) {
        part.user->OnStreamReset(stream, code);
      }
    }
    unis_.erase(found);
    return;
  }
  const auto found = bidis_.find(stream);
  if (found == bidis_.end()) {
    // A request that was cancelled before a byte of it came. Our half ends, too.
    if (OpenerOf(stream) == Role::kClient) {
      actions_.push_back(ResetStream{stream, code});
    }
    return;
  }
  Bidi& bidi = found->second;
  bidi.in_over = true;
  if (bidi.first || bidi.joins) {
    HandHome(stream, bidi);
  }
  if (bidi.alias) {
    RetireAlias(*std::exchange(bidi.alias, std::nullopt));
  }
  for (size_t i = 0; i < parts_.size(); ++i) {
    if (Hears(bidi, i)) {
      parts_[i].user->OnStreamReset(bidi.number, code);
    }
  }
  ForgetIfOver(stream);
}

void Junction::OnStopSending(StreamId stream, uint64_t code) {
  if (closed_) {
    return;
  }
  if (IsUni(stream)) {
    const auto [part, number] = PartOfUni(stream);
    parts_[part].user->OnStopSending(number, code);
    return;
  }
  const auto found = bidis_.find(stream);
  if (found == bidis_.end()) {
    return;
  }
  Bidi& bidi = found->second;
  if (bidi.first || bidi.joins) {
    HandHome(stream, bidi);
  }
  for (size_t i = 0; i < parts_.size(); ++i) {
    if (Hears(bidi, i)) {
      parts_[i].user->OnStopSending(bidi.number, code);
    }
  }
}

void Junction::OnBytesSent(StreamId stream, uint64_t bytes) {
  if (closed_) {
    return;
  }
  if (IsUni(stream)) {
    const auto [part, number] = PartOfUni(stream);
    parts_[part].user->OnBytesSent(number, bytes);
    return;
  }
  const auto found = bidis_.find(stream);
  if (found == bidis_.end()) {
    return;
  }
  Bidi& bidi = found->second;
  bidi.unsent -= std::min(bidi.unsent, bytes);
  if (bidi.shared) {
    bidi.shared->OnBytesSent(bytes);
    TakeSteps(stream, bidi);
  } else {
    parts_[bidi.part].user->OnBytesSent(bidi.number, bytes);
  }
  ForgetIfOver(stream);
}

void Junction::OnDelivered(StreamId stream) {
  const auto [part, number] = PartOfUni(stream);
  if (!closed_) {
    parts_[part].user->OnDelivered(number);
  }
}

void Junction::OnDatagramsGone(uint64_t request, uint64_t count) {
  const auto found = datagrams_.find(request);
  if (closed_ || found == datagrams_.end()) {
    return;
  }
  auto& [part, waiting] = found->second;
  parts_[part].user->OnDatagramsGone(request, count);
  waiting -= std::min(waiting, count);
  if (waiting == 0) {
    datagrams_.erase(found);
  }
}

// One whose track is not known is lost, as datagrams may be.
void Junction::OnDatagram(std::span<const std::byte> bytes) {
  if (closed_) {
    return;
  }
  const Decoded<std::optional<ObjectDatagram>> read = options_.codec->DecodeDatagram(bytes);
  size_t part = options_.home;  // Which finds what is wrong with it.
  if (read.ok() && *read) {
    const auto alias = aliases_.find((*read)->alias);
    if (alias == aliases_.end()) {
      return;
    }
    part = alias->second.part;
  }
  parts_[part].user->OnDatagram(bytes);
}

void Junction::ForgetIfOver(StreamId stream) {
  const auto found = bidis_.find(stream);
  if (found == bidis_.end()) {
    return;
  }
  const Bidi& bidi = found->second;
  if (!bidi.in_over || !bidi.out_over || bidi.unsent > 0 || bidi.first || bidi.joins) {
    return;
  }
  if (bidi.joinable) {
    joinable_.erase(*bidi.joinable);
  }
  if (OpenerOf(stream) == Role::kServer) {
    parts_[bidi.part].numbers.erase(bidi.number);
  }
  bidis_.erase(found);
}

}  // namespace kvcast::moqt
