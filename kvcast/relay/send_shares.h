#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>

#include "kvcast/relay/limits.h"

namespace kvcast::relay {

// What waits to be sent, of each session, each identity and the node, and how much of it a session
// may have. While the node or an identity is beyond its bound, those for whom something waits share
// it equally: whoever keeps up has next to nothing waiting, and notices nothing. Parts shrink with
// everyone who shares; and at twice the bound nothing is to be begun for whoever can wait.
//
// What waits is counted for everyone it waits for, also where many wait for one payload.
class SendShares {
 public:
  // However many share, each may have this much: what is smaller than a part waits for nobody.
  static constexpr size_t kLeast = 16 * 1024;

  SendShares(const Limits& limits, size_t node_bytes) : limits_(&limits), node_bytes_(node_bytes) {}
  void SetNodeBytes(size_t bytes) { node_bytes_ = bytes; }

  // Who the session belongs to, from now on.
  void Join(uint64_t peer, const std::string& identity) {
    Leave(peer);
    const auto found = identities_.try_emplace(identity).first;
    ++found->second.sessions;
    peers_[peer] = {found, 0};
  }
  void Leave(uint64_t peer) {
    Set(peer, 0);
    if (const auto left = peers_.extract(peer)) {
      const auto identity = left.mapped().identity;
      if (--identity->second.sessions == 0) {
        identities_.erase(identity);
      }
    }
  }
  // So much waits for it now.
  void Set(uint64_t peer, size_t queued) {
    const auto found = peers_.find(peer);
    if (found == peers_.end() || found->second.queued == queued) {
      return;
    }
    const size_t before = found->second.queued;
    found->second.queued = queued;
    Move(node_, before, queued);
    Move(found->second.identity->second, before, queued);
  }

  size_t MostFor(uint64_t peer) const {
    size_t most = std::min(limits_->peer_queue_bytes, PartOf(node_, node_bytes_));
    const auto found = peers_.find(peer);
    if (found != peers_.end()) {
      most = std::min(most, PartOf(found->second.identity->second, identity_bytes()));
    }
    return most;
  }
  // So much waits that what can wait has to.
  bool IsFull(uint64_t peer) const {
    if (node_.queued / 2 >= node_bytes_) {
      return true;
    }
    const auto found = peers_.find(peer);
    if (found == peers_.end()) {
      return false;
    }
    return found->second.identity->second.queued / 2 >= identity_bytes();
  }
  size_t total() const { return node_.queued; }

 private:
  struct Sum {
    size_t queued = 0;
    size_t waiting = 0;   // Sessions for which anything waits,
    size_t sessions = 0;  // of so many of an identity.
  };
  struct Session {
    std::map<std::string, Sum>::iterator identity;
    size_t queued = 0;
  };

  // Where there are others, no identity has more than half of what all have.
  size_t identity_bytes() const {
    return std::min(limits_->identity_queue_bytes,
                    identities_.size() > 1 ? node_bytes_ / 2 : SIZE_MAX);
  }
  static void Move(Sum& sum, size_t from, size_t to) {
    sum.queued += to - from;
    sum.waiting += size_t{to > 0} - size_t{from > 0};
  }
  static size_t PartOf(const Sum& sum, size_t most) {
    return sum.queued <= most ? SIZE_MAX
                              : std::max(kLeast, most / std::max<size_t>(sum.waiting, 1));
  }

  const Limits* limits_;
  size_t node_bytes_;
  std::map<uint64_t, Session> peers_;
  std::map<std::string, Sum> identities_;
  Sum node_;
};

}  // namespace kvcast::relay
