#include "kvcast/io/socket_address.h"

#include <arpa/inet.h>
#include <netdb.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <memory>
#include <system_error>

#include "kvcast/base/hex.h"

namespace kvcast {
namespace {

// Of one name. Nobody waits for more of them to fail.
constexpr size_t kAddressesMax = 8;

struct Parts {
  std::string host;
  std::string port;
};

// The last colon divides: IPv6 addresses stand in brackets.
Parts Divide(std::string_view text) {
  const size_t colon = text.rfind(':');
  if (colon == std::string_view::npos || text.substr(colon).find(']') != std::string_view::npos) {
    return {std::string(text), ""};
  }
  std::string_view host = text.substr(0, colon);
  if (host.size() >= 2 && host.front() == '[' && host.back() == ']') {
    host = host.substr(1, host.size() - 2);
  }
  return {std::string(host), std::string(text.substr(colon + 1))};
}

// The system would take a port that there is not for another one, modulo 65536.
std::optional<uint16_t> ParsePort(std::string_view text) {
  uint16_t port = 0;
  const char* const end = text.data() + text.size();
  const auto [read, error] = std::from_chars(text.data(), end, port);
  return error == std::errc() && read == end ? std::optional(port) : std::nullopt;
}

}  // namespace

SocketAddress::SocketAddress(const sockaddr* address, socklen_t length) : length_(length) {
  KVCAST_CHECK(length <= sizeof(storage_));
  std::memcpy(&storage_, address, length);
  KVCAST_CHECK(get()->sa_family == AF_INET || get()->sa_family == AF_INET6);
}

SocketAddress SocketAddress::Loopback(uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(port);
  return {reinterpret_cast<const sockaddr*>(&address), sizeof(address)};
}

std::optional<uint16_t> SocketAddress::PortOf(std::string_view host_and_port) {
  return ParsePort(Divide(host_and_port).port);
}

std::string SocketAddress::HostOf(std::string_view host_and_port) {
  return Divide(host_and_port).host;
}

Result<SocketAddress> SocketAddress::Resolve(std::string_view host_and_port) {
  KVCAST_TRY(const std::vector<SocketAddress> all, ResolveAll(host_and_port));
  return all.front();
}

Result<std::vector<SocketAddress>> SocketAddress::ResolveAll(std::string_view host_and_port) {
  const Parts parts = Divide(host_and_port);
  if (parts.host.empty() || parts.port.empty()) {
    return Error(ErrorCode::kInvalid, "\"" + Printable(host_and_port) +
                                          "\" is no host and port. Write it like "
                                          "\"node7.example:4433\" or \"[2001:db8::7]:4433\".");
  }
  if (!ParsePort(parts.port)) {
    return Error(ErrorCode::kInvalid, "\"" + Printable(host_and_port) +
                                          "\" has no port behind its last colon: write a number "
                                          "from 0 to 65535.");
  }
  // By itself: no file and no server can then send it elsewhere, or to ::1 where a node listens at
  // 127.0.0.1. A machine without /etc/hosts knows it too.
  const std::string host = parts.host == "localhost" ? "127.0.0.1" : parts.host;
  addrinfo hints{};
  hints.ai_socktype = SOCK_DGRAM;
  hints.ai_flags = AI_NUMERICSERV;
  addrinfo* found = nullptr;
  const int failure = ::getaddrinfo(host.c_str(), parts.port.c_str(), &hints, &found);
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> owner(found, &::freeaddrinfo);
  if (failure != 0 || found == nullptr) {
    return Error(ErrorCode::kNotFound, "Cannot find the address of \"" + Printable(host_and_port) +
                                           "\": " + ::gai_strerror(failure) + ". Check the name.");
  }
  std::vector<SocketAddress> all;
  for (const addrinfo* each = found; each != nullptr && all.size() < kAddressesMax;
       each = each->ai_next) {
    const SocketAddress address(each->ai_addr, each->ai_addrlen);
    if (std::ranges::find(all, address) == all.end()) {
      all.push_back(address);
    }
  }
  return all;
}

SocketAddress SocketAddress::Any() const {
  SocketAddress any;
  any.storage_.sin6_family = storage_.sin6_family;  // All else is zero, which is the wildcard.
  any.length_ = length_;
  return any;
}

SocketAddress SocketAddress::At(const in_addr& address) const {
  sockaddr_in moved = v4();
  moved.sin_addr = address;
  return {reinterpret_cast<const sockaddr*>(&moved), sizeof(moved)};
}

SocketAddress SocketAddress::At(const in6_addr& address, uint32_t interface) const {
  SocketAddress moved = *this;
  moved.storage_.sin6_addr = address;
  // Only these are of one interface; with the others, it would stand in the way of routes.
  moved.storage_.sin6_scope_id = IN6_IS_ADDR_LINKLOCAL(&address) ? interface : 0;
  return moved;
}

sockaddr_in SocketAddress::v4() const {
  sockaddr_in address{};
  std::memcpy(&address, &storage_, sizeof(address));
  return address;
}

bool SocketAddress::is_wildcard() const {
  return is_v6() ? IN6_IS_ADDR_UNSPECIFIED(&storage_.sin6_addr)
                 : v4().sin_addr.s_addr == htonl(INADDR_ANY);
}

bool SocketAddress::is_loopback() const {
  if (is_v6()) {
    const in6_addr& address = storage_.sin6_addr;
    return IN6_IS_ADDR_LOOPBACK(&address) ||
           (IN6_IS_ADDR_V4MAPPED(&address) && address.s6_addr[12] == 127);
  }
  return length_ != 0 && ntohl(v4().sin_addr.s_addr) >> 24 == 127;
}

uint16_t SocketAddress::port() const {
  return ntohs(storage_.sin6_port);  // At the same place in both families.
}

std::string SocketAddress::ToString() const {
  std::array<char, INET6_ADDRSTRLEN> text{};
  if (is_v6()) {
    ::inet_ntop(AF_INET6, &storage_.sin6_addr, text.data(), text.size());
    return "[" + std::string(text.data()) + "]:" + std::to_string(port());
  }
  const sockaddr_in address = v4();
  ::inet_ntop(AF_INET, &address.sin_addr, text.data(), text.size());
  return std::string(text.data()) + ":" + std::to_string(port());
}

bool operator==(const SocketAddress& a, const SocketAddress& b) {
  return a.length_ == b.length_ && std::memcmp(&a.storage_, &b.storage_, a.length_) == 0;
}

}  // namespace kvcast
