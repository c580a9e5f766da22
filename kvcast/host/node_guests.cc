#include "kvcast/host/node_guests.h"

#include <optional>
#include <type_traits>

#include "kvcast/io/clock.h"

namespace kvcast {

NodeGuests::NodeGuests(EventLoop& loop, ShardLines lines, Admit admit)
    : lines_(std::move(lines)), admit_(std::move(admit)), timer_(loop, [this] { Settle(); }) {}

// The end of one may have others poked.
NodeGuests::~NodeGuests() {
  while (!guests_.empty()) {
    const Guest gone = std::move(guests_.begin()->second);
    guests_.erase(guests_.begin());
  }
}

void NodeGuests::Poke(const Key& key) {
  poked_.insert(key);
  timer_.Set(Now());
}

void NodeGuests::Come(const Key& key, ShardParcel::Came& came) {
  PeerLine line;
  line.poke = [this, key] { Poke(key); };
  line.codec = came.codec;
  line.from = std::move(came.from);
  line.certificate = std::move(came.certificate);
  line.share = {lines_.index, lines_.count};
  guests_[key].peer = admit_(std::move(line));
  poked_.insert(key);
}

void NodeGuests::Take(size_t home, ShardParcel& parcel) {
  const Key key{home, parcel.guest};
  if (auto* const came = std::get_if<ShardParcel::Came>(&parcel.what)) {
    Come(key, *came);
    return;
  }
  const auto found = guests_.find(key);
  if (found == guests_.end()) {
    return;
  }
  if (std::holds_alternative<ShardParcel::Gone>(parcel.what)) {
    poked_.erase(key);
    const Guest gone = std::move(found->second);  // It tells of its end, with no guest left here.
    guests_.erase(found);
    return;
  }
  Tell(*found->second.peer, parcel);
  poked_.insert(key);
}

void NodeGuests::Tell(NodePeer& peer, ShardParcel& parcel) {
  peer.OnTime(Now());
  std::visit(
      [&peer]([[maybe_unused]] auto& what) {
        using What = std::decay_t<decltype(what)>;
        if constexpr (std::is_same_v<What, ShardParcel::Data>) {
          const size_t pieces = what.bytes.piece_count();
          for (size_t i = 0; i + 1 < pieces; ++i) {
            peer.OnStreamData(what.stream, what.bytes.piece(i), false);
          }
          peer.OnStreamData(
              what.stream, pieces > 0 ? what.bytes.piece(pieces - 1) : std::span<const std::byte>(),
              what.fin);
        } else if constexpr (std::is_same_v<What, ShardParcel::Reset>) {
          peer.OnStreamReset(what.stream, what.code);
        } else if constexpr (std::is_same_v<What, ShardParcel::Stopped>) {
          peer.OnStopSending(what.stream, what.code);
        } else if constexpr (std::is_same_v<What, ShardParcel::Sent>) {
          peer.OnBytesSent(what.stream, what.bytes);
        } else if constexpr (std::is_same_v<What, ShardParcel::Delivered>) {
          peer.OnDelivered(what.stream);
        } else if constexpr (std::is_same_v<What, ShardParcel::DatagramsGone>) {
          peer.OnDatagramsGone(what.request, what.count);
        } else if constexpr (std::is_same_v<What, ShardParcel::Datagram>) {
          const std::string bytes = what.bytes.ToString();
          peer.OnDatagram(AsBytes(bytes));
        } else if constexpr (std::is_same_v<What, ShardParcel::Allowed>) {
          peer.OnStreamsAllowed(what.bidi_total);
        } else if constexpr (std::is_same_v<What, ShardParcel::UsedUp>) {
          peer.OnStreamsUsedUp();
        } else if constexpr (std::is_same_v<What, ShardParcel::Closed>) {
          peer.OnConnectionClosed(what.code, what.reason);
        }
      },
      parcel.what);
}

void NodeGuests::Settle() {
  // What one wants done may have others poked, which have their turn when the loop comes round.
  for (const Key& key : std::exchange(poked_, {})) {
    if (const auto found = guests_.find(key); found != guests_.end()) {
      Drain(key, found->second);
    }
  }
}

void NodeGuests::Drain(const Key& key, Guest& guest) {
  LoopBridge<ShardParcel>& home = *lines_.bridges[key.first];
  while (std::optional<moqt::TransportAction> action = guest.peer->NextAction()) {
    home.Send({key.second, *std::move(action)});
  }
  const bool may = guest.peer->MayOpenMore();
  if (may != std::exchange(guest.may_open_more, may)) {
    home.Send({key.second, ShardParcel::MayOpenMore{may}});
  }
}

}  // namespace kvcast
