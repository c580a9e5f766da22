#pragma once

#include <ngtcp2/ngtcp2.h>

#include <cstddef>
#include <cstdint>
#include <span>

namespace kvcast {

// Which of the servers it is that share one UDP port, each on a loop of its own. Whose a packet is
// says the first byte of the connection id that it is addressed to: ids that we give out are marked
// so, and those that clients make up are spread by it. The kernel goes by the same rule, see
// UdpSocket::BindShared().
struct PortShare {
  static constexpr size_t kCountMax = 64;

  size_t index = 0;
  size_t count = 1;

  bool alone() const { return count == 1; }
  size_t HomeOf(std::span<const uint8_t> id) const { return id.empty() ? index : id[0] % count; }
  // The id's packets come here. REQUIRES: it is not empty, and there are no more than kCountMax.
  void Mark(ngtcp2_cid& id) const {
    const size_t marked = id.data[0] - id.data[0] % count + index;
    id.data[0] = static_cast<uint8_t>(marked > UINT8_MAX ? marked - count : marked);
  }
};

}  // namespace kvcast
