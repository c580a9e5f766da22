#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "kvcast/base/time.h"
#include "kvcast/moqt/codec.h"

namespace kvcast {

// What decides how much is under way. It has to be chosen before anything is known of the way but
// where it leads, and stays.
enum class CongestionControl : uint8_t {
  kByDistance,  // Cubic on loopback, which loses nothing; BBR everywhere else.
  kCubic,  // Takes every loss for congestion: 1 % of loss over 50 ms leaves it 1 % of the link.
  kBbr,    // Sends at the rate that arrives, and loses little of it where packets are lost.
};

// What a QUIC connection is set up with.
struct QuicOptions {
  // The application protocols that are spoken, the best first: other peers are turned away. A
  // client offers them all, and a server takes its best of them. REQUIRES: there is one.
  std::vector<std::string> alpns = moqt::SpokenAlpns();

  // What the peer may send before the session has given any credit, per stream and in all. From
  // then on exactly what the session gives is added, and the window as a whole grows while it is
  // what holds the peer up (ReceiveWindow), to the maximum: so a session that stops giving is sent
  // no more than that. All streams together grow by so much, and none by more than a quarter of
  // what is left of that.
  uint64_t stream_credit_bytes = 256 * 1024;
  uint64_t stream_credit_bytes_max = 32 * 1024 * 1024;
  uint64_t stream_growth_bytes_max = 128 * 1024 * 1024;
  uint64_t connection_credit_bytes = 16 * 1024 * 1024;
  uint64_t connection_credit_bytes_max = 64 * 1024 * 1024;
  // How many streams the peer may have open at a time: one-way streams of a thousand tracks that
  // stay open, and some beside them. Each may bring `stream_credit_bytes` before anybody takes
  // anything, which is what bounds the memory that they take (docs/reference/moqt.md). Two-way ones
  // carry requests: they bring messages, which are short, and are read at once. Who may ask for how
  // much at a time is bounded by identity (relay::Limits), of engines far below this; so many are
  // what a relay of ours asks for at a time (StreamAllowance).
  uint64_t peer_streams_uni = 1088;
  uint64_t peer_streams_bidi = 16384;
  // The largest DATAGRAM frame that the peer may send. With 0 there are none, and MoQT peers hang
  // up.
  uint64_t datagram_frame_bytes_max = 65'535;
  // Bytes of DATAGRAM frames that wait to be sent. What comes beyond is dropped.
  size_t datagram_queue_bytes = 1024 * 1024;

  // Silence for this long ends the connection; with a keep-alive, only if the peer is gone. A
  // keep-alive of zero sends none.
  Duration idle_timeout = std::chrono::seconds(30);
  Duration keep_alive = std::chrono::seconds(10);
  Duration handshake_timeout = std::chrono::seconds(10);

  CongestionControl congestion_control = CongestionControl::kByDistance;
  // Larger datagrams are not tried, although the way might carry them. Path MTU discovery decides
  // how far they go: to Ethernet's size, to that of jumbo frames, and on loopback to 64 KB.
  size_t datagram_bytes_max = 65'507;

  // Packets are protected by libipsec-mb where that is there and fast; else, and without this, by
  // GnuTLS. On the wire both are the same.
  bool fast_packets = true;

  // Where each connection leaves a file of what it did (qlog, as JSON text sequences); empty for
  // none. A connection whose file cannot be written goes on without. A file ends at
  // `qlog_bytes_max`.
  std::filesystem::path qlog_directory;
  uint64_t qlog_bytes_max = 256 * 1024 * 1024;
};

}  // namespace kvcast
