#pragma once

#include <cstddef>
#include <cstdint>

#include "kvcast/base/time.h"

namespace kvcast::moqt {

// What a session grants its peer. Nothing a peer says makes it hold more than these and the
// transport's windows.
struct Limits {
  // A larger object, or more properties, costs the peer the stream.
  uint64_t object_bytes_max = 64 * 1024 * 1024;
  size_t properties_bytes_max = 64 * 1024;

  // Objects that wait to be taken, per stream: at this many bytes the stream gets no more credit.
  size_t stream_queue_bytes = 1024 * 1024;
  // The same over all streams: at this many, the connection gets no more credit either.
  size_t session_queue_bytes = 64 * 1024 * 1024;

  // Bytes kept for later: on streams that came before SETUP, or before their track's alias. A
  // stream that would pass them is refused.
  size_t early_bytes = 4 * 1024 * 1024;

  // Requests of the peer that are open at a time; more are refused as excessive load.
  size_t requests_max = 4096;

  // Bytes of ours that wait for the transport, per request: at `high` a sender should pause, and
  // it hears of it once they have fallen to `low`.
  size_t send_queue_high_bytes = 4 * 1024 * 1024;
  size_t send_queue_low_bytes = 1024 * 1024;

  // How long the peer's SETUP may take.
  Duration setup_patience = std::chrono::seconds(10);
};

}  // namespace kvcast::moqt
