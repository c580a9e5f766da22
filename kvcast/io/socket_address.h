#pragma once

#include <netinet/in.h>
#include <sys/socket.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kvcast/base/result.h"

namespace kvcast {

// An IPv4 or IPv6 address and a port, as sockets take them.
class SocketAddress {
 public:
  SocketAddress() = default;
  // REQUIRES: `address` is of AF_INET or AF_INET6 and `length` bytes long.
  SocketAddress(const sockaddr* address, socklen_t length);

  // 127.0.0.1; port 0 lets the system choose.
  static SocketAddress Loopback(uint16_t port);
  // "192.0.2.7:4433", "[2001:db8::7]:4433" or "node7.example:4433". A name is asked for in the
  // network, which may take seconds: never on a loop's thread. "localhost" is always 127.0.0.1.
  static Result<SocketAddress> Resolve(std::string_view host_and_port);
  // All that a name has, the one to try first in front; a few at most, and at least one.
  static Result<std::vector<SocketAddress>> ResolveAll(std::string_view host_and_port);
  // What stands before the port, without brackets: what a certificate has to name.
  static std::string HostOf(std::string_view host_and_port);
  // The port, if there is one and it is one that can be.
  static std::optional<uint16_t> PortOf(std::string_view host_and_port);

  // The wildcard address of the same family.
  SocketAddress Any() const;
  // The same port at another address. REQUIRES: of the same family.
  SocketAddress At(const in_addr& address) const;
  SocketAddress At(const in6_addr& address, uint32_t interface) const;

  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&storage_); }
  socklen_t length() const { return length_; }
  bool is_v6() const { return storage_.sin6_family == AF_INET6; }
  // REQUIRES: is_v6().
  const sockaddr_in6& v6() const { return storage_; }
  // REQUIRES: !is_v6().
  sockaddr_in v4() const;
  bool is_wildcard() const;
  bool is_loopback() const;
  uint16_t port() const;
  std::string ToString() const;

  friend bool operator==(const SocketAddress& a, const SocketAddress& b);

 private:
  sockaddr_in6 storage_{};  // The larger of the two.
  socklen_t length_ = 0;
};

}  // namespace kvcast
