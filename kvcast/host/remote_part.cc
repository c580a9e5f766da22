#include "kvcast/host/remote_part.h"

#include <algorithm>
#include <chrono>
#include <utility>
#include <variant>

namespace kvcast {
namespace {

// How far back it is looked for one that says the same of the same stream.
constexpr size_t kLookedBack = 16;
// While more than this waits here, the session hears of what was sent when it is so much, or after
// so long: it goes on to send when a request of its own has four times that left.
constexpr uint64_t kPlentyBytes = 512 * 1024;
constexpr uint64_t kToldBytes = 256 * 1024;
constexpr Duration kToldAfter = std::chrono::milliseconds(1);

}  // namespace

RemotePart::RemotePart(EventLoop& loop, RemoteParts& parts, size_t shard, uint64_t guest,
                       LoopBridge<ShardParcel>& bridge, ShardParcel::Came came,
                       std::function<void()> poke)
    : parts_(&parts),
      shard_(shard),
      guest_(guest),
      bridge_(&bridge),
      poke_(std::move(poke)),
      tell_(loop, [this] { TellSent(); }) {
  (*parts_)[{guest_, shard_}] = this;
  Send(std::move(came));
}

RemotePart::~RemotePart() {
  parts_->erase({guest_, shard_});
  Send(ShardParcel::Gone{});
}

// Packets are small, and a session need not hear of each. Of one guest, nothing but the same may
// stand between them.
void RemotePart::SendSent(moqt::StreamId stream, uint64_t bytes) {
  std::vector<ShardParcel>& leaving = bridge_->leaving();
  const size_t first = leaving.size() - std::min(leaving.size(), kLookedBack);
  for (size_t i = leaving.size(); i > first; --i) {
    ShardParcel& before = leaving[i - 1];
    auto* const sent = std::get_if<ShardParcel::Sent>(&before.what);
    if (before.guest == guest_ && sent == nullptr) {
      break;
    }
    if (before.guest == guest_ && sent->stream == stream) {
      sent->bytes += bytes;
      return;
    }
  }
  bridge_->Send({guest_, ShardParcel::Sent{stream, bytes}});
}

void RemotePart::TellSent() {
  for (const auto& [stream, bytes] : untold_) {
    SendSent(stream, bytes);
  }
  untold_.clear();
  untold_bytes_ = 0;
  tell_.Stop();
}

void RemotePart::NoteGone(moqt::StreamId stream, uint64_t bytes) {
  const auto found = unsent_.find(stream);
  if (found == unsent_.end()) {
    return;
  }
  const uint64_t gone = std::min(bytes, found->second);
  unsent_bytes_ -= gone;
  found->second -= gone;
  if (found->second == 0) {
    unsent_.erase(found);
  }
}

void RemotePart::OnBytesSent(moqt::StreamId stream, uint64_t bytes) {
  NoteGone(stream, bytes);
  untold_[stream] += bytes;
  untold_bytes_ += bytes;
  if (unsent_bytes_ <= kPlentyBytes || untold_bytes_ >= kToldBytes) {
    TellSent();
  } else if (!tell_.is_set()) {
    tell_.Set(Now() + kToldAfter);
  }
}

void RemotePart::Take(moqt::TransportAction action) {
  const auto* const send = std::get_if<moqt::SendBytes>(&action);
  if (send != nullptr && !send->bytes.empty()) {
    unsent_[send->stream] += send->bytes.size();
    unsent_bytes_ += send->bytes.size();
  } else if (const auto* const reset = std::get_if<moqt::ResetStream>(&action)) {
    NoteGone(reset->stream, UINT64_MAX);
  }
  actions_.push_back(std::move(action));
  poke_();
}

std::optional<moqt::TransportAction> RemotePart::NextAction() {
  if (actions_.empty()) {
    return std::nullopt;
  }
  std::optional<moqt::TransportAction> first = std::move(actions_.front());
  actions_.pop_front();
  return first;
}

}  // namespace kvcast
