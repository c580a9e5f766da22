#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "kvcast/io/udp_socket.h"

namespace kvcast {

// Packets of equal size on one path, which leave with one system call; the last may be shorter.
class PacketBatch {
 public:
  // Where the next packet is to be written: room for the largest there is.
  std::span<uint8_t> Room() { return std::span(memory_).subspan(bytes_, kPacketBytesMax); }

  bool empty() const { return bytes_ == 0; }
  // Whether a packet of this size, written to Room(), can leave with the others.
  bool Takes(const UdpPath& path, size_t bytes) const;
  // REQUIRES: Takes().
  void Add(const UdpPath& path, size_t bytes);
  // Whether another packet like the first would no longer fit.
  bool full() const;

  // Offers the packets to the socket; false when some have to be offered again, later.
  bool Send(UdpSocket& socket);
  // Gives up what could not be sent; how many packets that were, at most.
  size_t Drop();
  // The packet in Room() becomes the only one. REQUIRES: empty().
  void Restart(const UdpPath& path, std::span<const uint8_t> packet);

  static constexpr size_t kPacketBytesMax = 65'536;

 private:
  void Clear();

  std::vector<uint8_t> memory_ = std::vector<uint8_t>(2 * kPacketBytesMax);
  UdpPath path_;
  size_t packet_bytes_ = 0;
  size_t bytes_ = 0;
  size_t sent_bytes_ = 0;
  size_t packets_ = 0;
  bool closed_ = false;  // The last packet was shorter.
};

}  // namespace kvcast
