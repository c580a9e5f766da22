#include "kvcast/host/remote_part.h"

#include <algorithm>
#include <utility>

namespace kvcast {
namespace {

// How far back it is looked for one that says the same of the same stream.
constexpr size_t kLookedBack = 16;

}  // namespace

RemotePart::RemotePart(RemoteParts& parts, size_t shard, uint64_t guest,
                       LoopBridge<ShardParcel>& bridge, ShardParcel::Came came,
                       std::function<void()> poke)
    : parts_(&parts), shard_(shard), guest_(guest), bridge_(&bridge), poke_(std::move(poke)) {
  (*parts_)[{guest_, shard_}] = this;
  Send(std::move(came));
}

RemotePart::~RemotePart() {
  parts_->erase({guest_, shard_});
  Send(ShardParcel::Gone{});
}

// Packets are small, and a session need not hear of each. Of one guest, nothing but the same may
// stand between them.
void RemotePart::OnBytesSent(moqt::StreamId stream, uint64_t bytes) {
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
  Send(ShardParcel::Sent{stream, bytes});
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
