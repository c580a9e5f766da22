#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <string>

#include "kvcast/base/check.h"
#include "kvcast/io/socket_address.h"

namespace kvcast {

// Who has begun a handshake and not ended it, by the network that they come from: whoever owns one
// address has as many as he likes near it.
template <typename Who>
class HandshakeBook {
 public:
  void Begin(Who who, const SocketAddress& from) {
    const std::string network = NetworkOf(from);
    networks_[network].push_back(who);
    places_.emplace(who, network);
  }
  // Or it never began one.
  void End(Who who) {
    const auto place = places_.find(who);
    if (place == places_.end()) {
      return;
    }
    const auto network = networks_.find(place->second);
    std::erase(network->second, who);
    if (network->second.empty()) {
      networks_.erase(network);
    }
    places_.erase(place);
  }
  size_t size() const { return places_.size(); }
  // The first that began, of the network that has most. REQUIRES: there is one.
  Who OldestOfMost() const {
    KVCAST_CHECK(!networks_.empty());
    return std::ranges::max_element(networks_, {},
                                    [](const auto& network) { return network.second.size(); })
        ->second.front();
  }

 private:
  // 24 bits of an IPv4 address, also of one that is written as IPv6's, and 56 of an IPv6 address.
  static std::string NetworkOf(const SocketAddress& address) {
    if (!address.is_v6()) {
      const in_addr v4 = address.v4().sin_addr;
      return {reinterpret_cast<const char*>(&v4), 3};
    }
    const in6_addr& v6 = address.v6().sin6_addr;
    const auto* const bytes = reinterpret_cast<const char*>(&v6);
    return IN6_IS_ADDR_V4MAPPED(&v6) ? std::string(bytes + 12, 3) : std::string(bytes, 7);
  }

  std::map<std::string, std::deque<Who>> networks_;
  std::map<Who, std::string> places_;
};

}  // namespace kvcast
