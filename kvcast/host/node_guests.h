#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <utility>

#include "kvcast/host/node_peer.h"
#include "kvcast/host/shard_parcel.h"
#include "kvcast/io/event_loop.h"

namespace kvcast {

// The sessions that a shard has for connections whose home is another shard: hears for them what
// happens there, and sends back what they want done. Belongs to the loop's thread.
class NodeGuests {
 public:
  // Makes a peer that has come, and has it take part.
  using Admit = std::function<std::unique_ptr<NodePeer>(PeerLine)>;

  NodeGuests(EventLoop& loop, ShardLines lines, Admit admit);
  ~NodeGuests();

  // From the home of the guest that it is about.
  void Take(size_t home, ShardParcel& parcel);
  // After all that came at once.
  void Settle();
  size_t size() const { return guests_.size(); }

 private:
  using Key = std::pair<size_t, uint64_t>;
  struct Guest {
    std::unique_ptr<NodePeer> peer;
    bool may_open_more = true;
  };

  void Come(const Key& key, ShardParcel::Came& came);
  void Tell(NodePeer& peer, ShardParcel& parcel);
  void Poke(const Key& key);
  void Drain(const Key& key, Guest& guest);

  ShardLines lines_;
  Admit admit_;
  std::map<Key, Guest> guests_;
  std::set<Key> poked_;
  LoopTimer timer_;
};

}  // namespace kvcast
