#include <utility>

#include "kvcast/host/node_server.h"
#include "kvcast/host/shard_plan.h"
#include "kvcast/moqt/junction.h"

// What a node does as one shard of several.
namespace kvcast {
namespace {

// In one turn of the loop; more are lost, as packets may be.
constexpr size_t kPassedOnMax = 4096;

}  // namespace

std::unique_ptr<moqt::TransportUser> NodeServer::AcceptForAll(QuicConnection& connection) {
  const ShardLines& lines = options_.shard;
  PeerLine line = PeerLine::Of(connection);
  const ShardParcel::Came came{line.codec, line.from, line.certificate};
  line.share = {lines.index, lines.count};
  moqt::Junction::Options options;
  options.codec = line.codec;
  options.limits = options_.session;
  options.home = lines.index;
  options.part_of = [node = ShardNode(options_.relay.node, lines.index), count = lines.count](
                        const TrackNamespace& space) { return ShardAsked(node, space, count); };
  const uint64_t guest = next_guest_++;
  std::vector<std::unique_ptr<moqt::TransportUser>> parts;
  for (size_t shard = 0; shard < lines.count; ++shard) {
    if (shard == lines.index) {
      parts.push_back(Admit(line, false));
    } else {
      parts.push_back(std::make_unique<RemotePart>(*loop_, remote_parts_, shard, guest,
                                                   *lines.bridges[shard], came, line.poke));
    }
  }
  return std::make_unique<moqt::Junction>(std::move(options), std::move(parts));
}

void NodeServer::Take(size_t from, std::vector<ShardParcel>& parcels) {
  for (ShardParcel& parcel : parcels) {
    if (const auto* const ring = std::get_if<ShardParcel::Ring>(&parcel.what)) {
      LeaveRing(ring->upstream, false);
      continue;
    }
    if (const auto* const packet = std::get_if<ShardParcel::Packet>(&parcel.what)) {
      if (quic_ != nullptr) {
        const std::string bytes = packet->bytes.ToString();
        quic_->Receive(packet->path, AsBytes(bytes));
      }
      continue;
    }
    auto* const action = std::get_if<moqt::TransportAction>(&parcel.what);
    const auto* const more = std::get_if<ShardParcel::MayOpenMore>(&parcel.what);
    if (action == nullptr && more == nullptr) {
      guests_->Take(from, parcel);
      continue;
    }
    const auto part = remote_parts_.find({parcel.guest, from});
    if (part == remote_parts_.end()) {
      continue;  // The connection has gone meanwhile.
    }
    if (action != nullptr) {
      part->second->Take(std::move(*action));
    } else {
      part->second->SetMayOpenMore(more->may);
    }
  }
  guests_->Settle();
}

// Only where the kernel does not deal packets out by itself, or a client's moved at a bad moment.
void NodeServer::PassOn(size_t home, const UdpPath& path, std::span<const std::byte> datagram) {
  LoopBridge<ShardParcel>& bridge = *options_.shard.bridges.at(home);
  if (bridge.leaving().size() < kPassedOnMax) {
    bridge.Send({0, ShardParcel::Packet{path, Bytes::Copy(datagram)}});
  }
}

// The question that finds a ring comes back to one shard, and all have links of their own.
void NodeServer::LeaveRing(size_t upstream, bool tell) {
  upstreams_.at(upstream)->LeaveRing();
  for (LoopBridge<ShardParcel>* const bridge : options_.shard.bridges) {
    if (tell && bridge != nullptr) {
      bridge->Send({0, ShardParcel::Ring{upstream}});
    }
  }
}

}  // namespace kvcast
