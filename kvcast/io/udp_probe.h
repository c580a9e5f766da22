#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "kvcast/base/result.h"

namespace kvcast {

// What UDP sockets of this machine can do for QUIC, tried out over the loopback interface.
struct UdpFacts {
  // One system call sent several datagrams (generic segmentation offload), and all arrived.
  bool segments = false;
  // One system call received several datagrams (generic receive offload).
  bool coalesces = false;
  // What was asked for as a socket's buffers, and what was granted.
  uint64_t buffer_bytes_wanted = 0;
  uint64_t receive_buffer_bytes = 0;
  uint64_t send_buffer_bytes = 0;
  // The limits that decide it; absent in containers that do not show them.
  std::optional<uint64_t> receive_buffer_bytes_max;  // net.core.rmem_max
  std::optional<uint64_t> send_buffer_bytes_max;     // net.core.wmem_max
};

// Binds to the loopback interface only, and takes at most a second.
Result<UdpFacts> ProbeUdp();

}  // namespace kvcast
