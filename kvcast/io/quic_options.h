#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "kvcast/base/time.h"

namespace kvcast {

enum class CongestionControl : uint8_t {
  kCubic,  // Gives way to others. The default.
  kBbr,    // Keeps its rate where packets are lost for other reasons than congestion.
};

// What a QUIC connection is set up with.
struct QuicOptions {
  // The only application protocol that is spoken: other peers are turned away.
  std::string alpn = "moqt-18";

  // What the peer may send before the session has given any credit, per stream and in all; from
  // then on exactly what the session gives is added. A stream can have this much on its way.
  uint64_t stream_credit_bytes = 4 * 1024 * 1024;
  uint64_t connection_credit_bytes = 64 * 1024 * 1024;
  // How many streams the peer may have open at a time.
  uint64_t peer_streams_uni = 1024;
  uint64_t peer_streams_bidi = 1024;

  // Silence for this long ends the connection; with a keep-alive, only if the peer is gone. A
  // keep-alive of zero sends none.
  Duration idle_timeout = std::chrono::seconds(30);
  Duration keep_alive = std::chrono::seconds(10);
  Duration handshake_timeout = std::chrono::seconds(10);

  CongestionControl congestion_control = CongestionControl::kCubic;
  // Larger datagrams are not tried, although the way might carry them. Path MTU discovery decides
  // how far they go: to Ethernet's size, to that of jumbo frames, and on loopback to 64 KB.
  size_t datagram_bytes_max = 65'400;
};

}  // namespace kvcast
