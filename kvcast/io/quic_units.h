#pragma once

#include <ngtcp2/ngtcp2.h>

#include <cstddef>
#include <cstdint>

#include "kvcast/base/time.h"
#include "kvcast/io/entropy.h"
#include "kvcast/io/udp_socket.h"

namespace kvcast {

// Values of ours as ngtcp2 has them, and back; and those that the parts of a connection share.

inline constexpr size_t kEthernetDatagramBytes = 1452;   // 1500, less the headers of IPv6 and UDP.
inline constexpr uint8_t kTlsCertificateRequired = 116;  // An alert,
inline constexpr uint8_t kTlsNoApplicationProtocol = 120;  // and another.

inline ngtcp2_tstamp ToQuic(Instant instant) {
  return static_cast<ngtcp2_tstamp>(instant.time_since_epoch().count());
}
inline ngtcp2_duration ToQuic(Duration duration) {
  return static_cast<ngtcp2_duration>(duration.count());
}
inline Duration FromQuic(ngtcp2_duration duration) {
  return Duration(static_cast<int64_t>(duration));
}

// Only lent.
inline ngtcp2_addr ToQuic(const SocketAddress& address) {
  return {const_cast<sockaddr*>(address.get()), address.length()};
}

inline ngtcp2_path ToQuic(const UdpPath& path) {
  return {ToQuic(path.local), ToQuic(path.remote), nullptr};
}
inline UdpPath FromQuic(const ngtcp2_path& path) {
  return {SocketAddress(path.local.addr, path.local.addrlen),
          SocketAddress(path.remote.addr, path.remote.addrlen)};
}

inline ngtcp2_cid RandomConnectionId(size_t bytes) {
  ngtcp2_cid id{};
  id.datalen = bytes;
  FillRandom(std::as_writable_bytes(std::span(id.data)).first(bytes));
  return id;
}

}  // namespace kvcast
