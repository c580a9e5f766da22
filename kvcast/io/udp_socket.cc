#include "kvcast/io/udp_socket.h"

#include <linux/filter.h>
#include <netinet/udp.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <vector>

#include "kvcast/io/system_error.h"

namespace kvcast {
namespace {

constexpr size_t kSlots = 4;
constexpr size_t kSlotBytes = 65'536;  // The most that the kernel joins.

bool SetOption(const Descriptor& socket, int level, int option, int value) {
  return ::setsockopt(socket.number(), level, option, &value, sizeof(value)) == 0;
}

// Beyond net.core.rmem_max only for who administers the network; the rest get what that allows.
void SetBuffer(const Descriptor& socket, int forced, int plain, int bytes) {
  if (!SetOption(socket, SOL_SOCKET, forced, bytes)) {
    SetOption(socket, SOL_SOCKET, plain, bytes);
  }
}

uint64_t Granted(const Descriptor& socket, int option) {
  int bytes = 0;
  socklen_t length = sizeof(bytes);
  if (::getsockopt(socket.number(), SOL_SOCKET, option, &bytes, &length) != 0 || bytes < 0) {
    return 0;
  }
  return static_cast<uint64_t>(bytes) / 2;  // The kernel doubles it for its own bookkeeping.
}

template <typename Value>
Value Read(cmsghdr* header) {
  Value value{};
  std::memcpy(&value, CMSG_DATA(header), sizeof(value));
  return value;
}

// What the kernel says along with a message: how the datagrams in it are to be cut apart, and where
// they were sent to.
void ReadControl(msghdr& message, size_t& datagram_bytes, SocketAddress& local) {
  for (cmsghdr* header = CMSG_FIRSTHDR(&message); header != nullptr;
       header = CMSG_NXTHDR(&message, header)) {
    const auto is = [header](int level, int type) {
      return header->cmsg_level == level && header->cmsg_type == type;
    };
    if (is(IPPROTO_UDP, UDP_GRO)) {
      const int bytes = Read<int>(header);
      datagram_bytes = bytes > 0 ? static_cast<size_t>(bytes) : datagram_bytes;
    } else if (is(IPPROTO_IP, IP_PKTINFO)) {
      local = local.At(Read<in_pktinfo>(header).ipi_spec_dst);
    } else if (is(IPPROTO_IPV6, IPV6_PKTINFO)) {
      const auto info = Read<in6_pktinfo>(header);
      local = local.At(info.ipi6_addr, info.ipi6_ifindex);
    }
  }
}

// The number of the socket that a datagram is for: the first byte of the id that its packet is
// addressed to, which stands behind the flags, or, in packets of handshakes, behind the version and
// the id's length, by the number of sockets.
void DealByConnectionId(const Descriptor& socket, size_t count) {
  std::array<sock_filter, 7> program{{
      BPF_STMT(BPF_LD | BPF_B | BPF_ABS, 0),
      BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, 0x80, 0, 2),
      BPF_STMT(BPF_LD | BPF_B | BPF_ABS, 6),
      BPF_STMT(BPF_JMP | BPF_JA, 1),
      BPF_STMT(BPF_LD | BPF_B | BPF_ABS, 1),
      BPF_STMT(BPF_ALU | BPF_MOD | BPF_K, static_cast<uint32_t>(count)),
      BPF_STMT(BPF_RET | BPF_A, 0),
  }};
  const sock_fprog deal{static_cast<uint16_t>(program.size()), program.data()};
  // Where it is refused, datagrams are handed on by who gets them.
  (void)::setsockopt(socket.number(), SOL_SOCKET, SO_ATTACH_REUSEPORT_CBPF, &deal, sizeof(deal));
}

// What the kernel is told along with a message.
class Control {
 public:
  void AddSegment(size_t datagram_bytes) {
    Add(IPPROTO_UDP, UDP_SEGMENT, static_cast<uint16_t>(datagram_bytes));
  }
  void AddSource(const SocketAddress& local) {
    if (local.is_v6()) {
      in6_pktinfo info{};
      info.ipi6_addr = local.v6().sin6_addr;
      info.ipi6_ifindex = local.v6().sin6_scope_id;
      Add(IPPROTO_IPV6, IPV6_PKTINFO, info);
    } else {
      in_pktinfo info{};
      info.ipi_spec_dst = local.v4().sin_addr;
      Add(IPPROTO_IP, IP_PKTINFO, info);
    }
  }
  void GoWith(msghdr& message) {
    if (used_ > 0) {
      message.msg_control = bytes_.data();
      message.msg_controllen = used_;
    }
  }

 private:
  template <typename Value>
  void Add(int level, int type, const Value& value) {
    auto* const header = reinterpret_cast<cmsghdr*>(bytes_.data() + used_);
    header->cmsg_level = level;
    header->cmsg_type = type;
    header->cmsg_len = CMSG_LEN(sizeof(value));
    std::memcpy(CMSG_DATA(header), &value, sizeof(value));
    used_ += CMSG_SPACE(sizeof(value));
  }

  alignas(cmsghdr)
      std::array<char, CMSG_SPACE(sizeof(uint16_t)) + CMSG_SPACE(sizeof(in6_pktinfo))> bytes_{};
  size_t used_ = 0;
};

}  // namespace

// Where the kernel puts what it received.
struct UdpSocket::Slots {
  struct Slot {
    sockaddr_in6 from;
    alignas(cmsghdr)
        std::array<char, CMSG_SPACE(sizeof(int)) + CMSG_SPACE(sizeof(in6_pktinfo))> control;
  };
  std::vector<std::byte> memory = std::vector<std::byte>(kSlots * kSlotBytes);
  std::array<Slot, kSlots> slots{};
  std::array<iovec, kSlots> parts{};
  std::array<mmsghdr, kSlots> messages{};

  void Prepare() {
    for (size_t i = 0; i < kSlots; ++i) {
      parts[i] = {memory.data() + i * kSlotBytes, kSlotBytes};
      msghdr& header = messages[i].msg_hdr;
      header = {};
      header.msg_name = &slots[i].from;
      header.msg_namelen = sizeof(slots[i].from);
      header.msg_iov = &parts[i];
      header.msg_iovlen = 1;
      header.msg_control = slots[i].control.data();
      header.msg_controllen = slots[i].control.size();
    }
  }
};

void UdpSocket::DeleteSlots::operator()(Slots* slots) const { delete slots; }

UdpSocket::UdpSocket(Descriptor descriptor, SocketAddress local)
    : descriptor_(std::move(descriptor)),
      local_(local),
      anywhere_(local.is_wildcard()),
      slots_(new Slots) {}

Result<UdpSocket> UdpSocket::Bind(const SocketAddress& local, const Options& options) {
  return Bind(local, options, false);
}

// The first one is alone until it has its address, so that a second server is refused as ever.
Result<std::vector<UdpSocket>> UdpSocket::BindShared(const SocketAddress& local,
                                                     const Options& options, size_t count) {
  std::vector<UdpSocket> sockets;
  KVCAST_TRY(UdpSocket first, Bind(local, options, false));
  sockets.push_back(std::move(first));
  const bool shares = count > 1;
  if (shares && !SetOption(sockets[0].descriptor_, SOL_SOCKET, SO_REUSEPORT, 1)) {
    return SystemError("Cannot share UDP " + local.ToString() + " among shards", errno);
  }
  while (sockets.size() < count) {
    KVCAST_TRY(UdpSocket next, Bind(sockets[0].local(), options, true));
    sockets.push_back(std::move(next));
  }
  if (shares) {
    DealByConnectionId(sockets[0].descriptor_, count);
  }
  return sockets;
}

Result<UdpSocket> UdpSocket::Bind(const SocketAddress& local, const Options& options, bool joins) {
  Descriptor socket(::socket(local.get()->sa_family, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (joins && socket && !SetOption(socket, SOL_SOCKET, SO_REUSEPORT, 1)) {
    return SystemError("Cannot share UDP " + local.ToString() + " among shards", errno);
  }
  if (!socket || ::bind(socket.number(), local.get(), local.length()) != 0) {
    return SystemError("Cannot listen on UDP " + local.ToString(), errno);
  }
  if (options.peer &&
      ::connect(socket.number(), options.peer->get(), options.peer->length()) != 0) {
    return SystemError("Cannot reach " + options.peer->ToString(), errno);
  }
  sockaddr_in6 bound{};
  socklen_t length = sizeof(bound);
  if (::getsockname(socket.number(), reinterpret_cast<sockaddr*>(&bound), &length) != 0) {
    return SystemError("Cannot tell the address of a UDP socket", errno);
  }
  SetBuffer(socket, SO_RCVBUFFORCE, SO_RCVBUF, options.receive_buffer_bytes);
  SetBuffer(socket, SO_SNDBUFFORCE, SO_SNDBUF, options.send_buffer_bytes);
  if (local.is_v6()) {
    SetOption(socket, IPPROTO_IPV6, IPV6_MTU_DISCOVER, IPV6_PMTUDISC_PROBE);
  } else {
    SetOption(socket, IPPROTO_IP, IP_MTU_DISCOVER, IP_PMTUDISC_PROBE);
  }
  UdpSocket made(std::move(socket),
                 SocketAddress(reinterpret_cast<const sockaddr*>(&bound), length));
  if (made.anywhere_) {
    made.local_.is_v6() ? SetOption(made.descriptor_, IPPROTO_IPV6, IPV6_RECVPKTINFO, 1)
                        : SetOption(made.descriptor_, IPPROTO_IP, IP_PKTINFO, 1);
  }
  // Setting it to 0 changes nothing, and fails where there is no segmentation.
  made.segments_ = options.offload && SetOption(made.descriptor_, IPPROTO_UDP, UDP_SEGMENT, 0);
  made.coalesces_ = options.offload && SetOption(made.descriptor_, IPPROTO_UDP, UDP_GRO, 1);
  return made;
}

uint64_t UdpSocket::receive_buffer_bytes() const { return Granted(descriptor_, SO_RCVBUF); }
uint64_t UdpSocket::send_buffer_bytes() const { return Granted(descriptor_, SO_SNDBUF); }

UdpSocket::Outcome UdpSocket::Settle(int error, bool segmented) {
  switch (error) {
    case EAGAIN:
#if EWOULDBLOCK != EAGAIN
    case EWOULDBLOCK:
#endif
    case ENOBUFS:
      return Outcome::kLater;
    case ECONNREFUSED:  // Of an earlier datagram: this one has not been looked at.
      refused_ = true;
      return Outcome::kGone;
    case EIO:  // The device cannot, which shows only now.
      segments_ = segments_ && !segmented;
      return segmented ? Outcome::kUnsegmented : Outcome::kGone;
    case EINVAL:  // Not these, or not on this way.
      return segmented ? Outcome::kUnsegmented : Outcome::kGone;
    default:
      return Outcome::kGone;
  }
}

UdpSocket::Outcome UdpSocket::SendSegmented(const UdpPath& path, std::span<const std::byte> bytes,
                                            size_t datagram_bytes) {
  iovec part{const_cast<std::byte*>(bytes.data()), bytes.size()};
  msghdr message{};
  message.msg_name = const_cast<sockaddr*>(path.remote.get());
  message.msg_namelen = path.remote.length();
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  const bool segmented = bytes.size() > datagram_bytes;
  Control control;
  if (segmented) {
    control.AddSegment(datagram_bytes);
  }
  if (NamesSource(path)) {
    control.AddSource(path.local);
  }
  control.GoWith(message);
  ssize_t sent = 0;
  do {
    sent = ::sendmsg(descriptor_.number(), &message, 0);
  } while (sent < 0 && errno == EINTR);
  return sent >= 0 ? Outcome::kGone : Settle(errno, segmented);
}

size_t UdpSocket::SendOneByOne(const UdpPath& path, std::span<const std::byte> bytes,
                               size_t datagram_bytes) {
  Control control;
  if (NamesSource(path)) {
    control.AddSource(path.local);
  }
  size_t done = 0;
  while (done < bytes.size()) {
    std::array<iovec, kSendDatagramsMax> parts{};
    std::array<mmsghdr, kSendDatagramsMax> messages{};
    size_t count = 0;
    for (size_t at = done; at < bytes.size() && count < parts.size(); at += datagram_bytes) {
      const auto part = bytes.subspan(at, std::min(datagram_bytes, bytes.size() - at));
      parts[count] = {const_cast<std::byte*>(part.data()), part.size()};
      msghdr& header = messages[count].msg_hdr;
      header.msg_name = const_cast<sockaddr*>(path.remote.get());
      header.msg_namelen = path.remote.length();
      header.msg_iov = &parts[count];
      header.msg_iovlen = 1;
      control.GoWith(header);
      ++count;
    }
    int sent = 0;
    do {
      sent = ::sendmmsg(descriptor_.number(), messages.data(), static_cast<unsigned>(count), 0);
    } while (sent < 0 && errno == EINTR);
    if (sent < 0 && Settle(errno, false) == Outcome::kLater) {
      break;
    }
    // Where the first of them fails it is lost, and the others have their turn.
    done = std::min(done + datagram_bytes * static_cast<size_t>(std::max(sent, 1)), bytes.size());
  }
  return done;
}

size_t UdpSocket::Send(const UdpPath& path, std::span<const std::byte> bytes,
                       size_t datagram_bytes) {
  KVCAST_CHECK(datagram_bytes > 0 && bytes.size() <= kSendBytesMax);
  size_t done = 0;
  while (done < bytes.size()) {
    if (!segments_) {
      return done + SendOneByOne(path, bytes.subspan(done), datagram_bytes);
    }
    const auto part =
        bytes.subspan(done, std::min(datagram_bytes * kSendDatagramsMax, bytes.size() - done));
    switch (SendSegmented(path, part, datagram_bytes)) {
      case Outcome::kGone:
        done += part.size();
        break;
      case Outcome::kLater:
        return done;
      case Outcome::kUnsegmented:
        return done + SendOneByOne(path, bytes.subspan(done), datagram_bytes);
    }
  }
  return done;
}

bool UdpSocket::Receive(const Take& take) {
  slots_->Prepare();
  int count = 0;
  do {
    count = ::recvmmsg(descriptor_.number(), slots_->messages.data(), kSlots, 0, nullptr);
  } while (count < 0 && errno == EINTR);
  refused_ = refused_ || (count < 0 && errno == ECONNREFUSED);
  for (size_t i = 0; count > 0 && i < static_cast<size_t>(count); ++i) {
    msghdr& message = slots_->messages[i].msg_hdr;
    const size_t received = slots_->messages[i].msg_len;
    size_t datagram_bytes = received;
    UdpPath path{
        local_, SocketAddress(static_cast<const sockaddr*>(message.msg_name), message.msg_namelen)};
    ReadControl(message, datagram_bytes, path.local);
    const auto bytes = std::span<const std::byte>(slots_->memory).subspan(i * kSlotBytes, received);
    for (size_t at = 0; at < received; at += datagram_bytes) {
      take(path, bytes.subspan(at, std::min(datagram_bytes, received - at)));
    }
  }
  return count > 0;
}

}  // namespace kvcast
