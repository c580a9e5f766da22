#include "kvcast/io/udp_probe.h"

#include <netinet/in.h>
#include <netinet/udp.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <vector>

#include "kvcast/io/descriptor.h"
#include "kvcast/io/kernel_setting.h"
#include "kvcast/io/system_error.h"
#include "kvcast/io/udp_socket.h"

namespace kvcast {
namespace {

constexpr uint64_t kBufferBytesWanted = UdpSocket::kBufferBytes;
constexpr size_t kSegmentBytes = 1200;  // What every path of the Internet carries.
constexpr size_t kSegments = 10;
constexpr size_t kSentBytes = kSegments * kSegmentBytes;

Result<Descriptor> OpenSocket() {
  Descriptor socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  // Loopback delivers before send() returns, so whoever waits longer has lost the datagram.
  const timeval patience{0, 100'000};
  if (!socket ||
      ::bind(socket.number(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0 ||
      ::setsockopt(socket.number(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience)) != 0) {
    return SystemError("Cannot open a UDP socket on 127.0.0.1", errno);
  }
  return socket;
}

// Makes `from` send to `to`.
Result<void> Connect(const Descriptor& from, const Descriptor& to) {
  sockaddr_in address{};
  socklen_t length = sizeof(address);
  auto* const generic = reinterpret_cast<sockaddr*>(&address);
  if (::getsockname(to.number(), generic, &length) != 0 ||
      ::connect(from.number(), generic, length) != 0) {
    return SystemError("Cannot connect two UDP sockets on 127.0.0.1", errno);
  }
  return {};
}

bool Enable(const Descriptor& socket, int option, int value) {
  return ::setsockopt(socket.number(), IPPROTO_UDP, option, &value, sizeof(value)) == 0;
}

bool SendSegments(const Descriptor& sender) {
  const std::vector<std::byte> bytes(kSentBytes);
  return Enable(sender, UDP_SEGMENT, kSegmentBytes) &&
         ::send(sender.number(), bytes.data(), bytes.size(), 0) ==
             static_cast<ssize_t>(bytes.size());
}

struct Received {
  size_t bytes = 0;
  size_t segment_bytes = 0;  // What the kernel says it joined, or 0.
};

std::optional<Received> Receive(const Descriptor& receiver) {
  std::vector<std::byte> bytes(2 * kSentBytes);
  iovec part{bytes.data(), bytes.size()};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control{};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  const ssize_t got = ::recvmsg(receiver.number(), &message, 0);
  if (got < 0) {
    return std::nullopt;
  }
  Received received{static_cast<size_t>(got), 0};
  const cmsghdr* const header = CMSG_FIRSTHDR(&message);
  if (header != nullptr && header->cmsg_level == IPPROTO_UDP && header->cmsg_type == UDP_GRO) {
    int segment_bytes = 0;
    std::memcpy(&segment_bytes, CMSG_DATA(header), sizeof(segment_bytes));
    received.segment_bytes = static_cast<size_t>(segment_bytes);
  }
  return received;
}

// Every segment arrives as a datagram of its own.
bool Segments(const Descriptor& sender, const Descriptor& receiver) {
  if (!SendSegments(sender)) {
    return false;
  }
  for (size_t i = 0; i < kSegments; ++i) {
    const auto received = Receive(receiver);
    if (!received || received->bytes != kSegmentBytes) {
      return false;
    }
  }
  return true;
}

// The same datagrams arrive together.
bool Coalesces(const Descriptor& sender, const Descriptor& receiver) {
  if (!Enable(receiver, UDP_GRO, 1) || !SendSegments(sender)) {
    return false;
  }
  const auto received = Receive(receiver);
  return received && received->bytes > kSegmentBytes && received->segment_bytes == kSegmentBytes;
}

}  // namespace

Result<UdpFacts> ProbeUdp() {
  KVCAST_TRY(const Descriptor sender, OpenSocket());
  KVCAST_TRY(const Descriptor receiver, OpenSocket());
  KVCAST_TRY_VOID(Connect(sender, receiver));
  UdpFacts facts;
  facts.buffer_bytes_wanted = kBufferBytesWanted;
  // As a node asks for them: who administers the network gets more than the limits say.
  KVCAST_TRY(const UdpSocket nodes, UdpSocket::Bind(SocketAddress::Loopback(0)));
  facts.receive_buffer_bytes = nodes.receive_buffer_bytes();
  facts.send_buffer_bytes = nodes.send_buffer_bytes();
  facts.receive_buffer_bytes_max = KernelNumber("/proc/sys/net/core/rmem_max");
  facts.send_buffer_bytes_max = KernelNumber("/proc/sys/net/core/wmem_max");
  facts.segments = Segments(sender, receiver);
  // Where sending failed half-way, datagrams of the first trial may still be waiting.
  facts.coalesces = facts.segments && Coalesces(sender, receiver);
  return facts;
}

}  // namespace kvcast
