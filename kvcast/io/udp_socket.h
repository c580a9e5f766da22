#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "kvcast/base/result.h"
#include "kvcast/io/descriptor.h"
#include "kvcast/io/socket_address.h"

namespace kvcast {

// Between which two addresses a datagram goes, seen from here.
struct UdpPath {
  SocketAddress local;  // The wildcard where the kernel is to choose one.
  SocketAddress remote;

  friend bool operator==(const UdpPath&, const UdpPath&) = default;
};

// A UDP socket that never waits, and moves many datagrams with one system call where the kernel
// does (GSO and GRO); without that, QUIC here runs at a tenth of its speed.
//
// Path MTU discovery is QUIC's: the kernel never fragments, and datagrams that are too large for
// the way are lost as if it had been on the way.
//
// One that listens at the wildcard address says of each datagram where it was sent to, and sends
// from there if told: of a machine's addresses, a peer knows the one that it asked.
class UdpSocket {
 public:
  // What is asked for each way, and what `kvcast doctor` says about where the kernel grants less.
  static constexpr int kBufferBytes = 8 * 1024 * 1024;

  struct Options {
    // Asked for; the system may grant less.
    int receive_buffer_bytes = kBufferBytes;
    int send_buffer_bytes = kBufferBytes;
    // Off: every datagram by itself, as on kernels that have neither.
    bool offload = true;
    // Only datagrams from here are taken. In return the kernel says when nobody listens there.
    std::optional<SocketAddress> peer;
  };
  static Result<UdpSocket> Bind(const SocketAddress& local, const Options& options);
  static Result<UdpSocket> Bind(const SocketAddress& local) { return Bind(local, Options()); }
  // So many sockets at one address, among which the kernel deals QUIC's datagrams out by the id of
  // the connection, see PortShare; where it does not, they come to any. Nobody else can have the
  // address, nor share it.
  static Result<std::vector<UdpSocket>> BindShared(const SocketAddress& local,
                                                   const Options& options, size_t count);

  int descriptor() const { return descriptor_.number(); }
  const SocketAddress& local() const { return local_; }
  bool segments() const { return segments_; }
  bool coalesces() const { return coalesces_; }
  // What the kernel granted of the buffers that were asked for.
  uint64_t receive_buffer_bytes() const;
  uint64_t send_buffer_bytes() const;

  // The most bytes that one Send() takes, and the most datagrams.
  static constexpr size_t kSendBytesMax = 65'507;
  static constexpr size_t kSendDatagramsMax = 64;

  // Sends `bytes` as datagrams of `datagram_bytes` each, the last of which may be shorter. The path
  // begins where the socket is bound, or at any address of the machine if that is anywhere. Returns
  // how many bytes need not be offered again: all, unless the socket's buffer is full. What the
  // system refuses for another reason is lost on the way, as UDP is allowed to be.
  size_t Send(const UdpPath& path, std::span<const std::byte> bytes, size_t datagram_bytes);
  size_t Send(const SocketAddress& to, std::span<const std::byte> bytes, size_t datagram_bytes) {
    return Send({local_, to}, bytes, datagram_bytes);
  }

  // Calls `take` with each datagram that is there, up to some hundred; false when none was. The
  // bytes are only lent.
  using Take = std::function<void(const UdpPath& path, std::span<const std::byte> datagram)>;
  bool Receive(const Take& take);

  // Whether the peer's machine has said, since this was last asked, that nobody listens there. Only
  // where the socket has a peer.
  bool TakeRefusal() { return std::exchange(refused_, false); }

 private:
  struct Slots;
  struct DeleteSlots {
    void operator()(Slots* slots) const;
  };

  UdpSocket(Descriptor descriptor, SocketAddress local);
  // `joins`: the address is another socket's, which has let it be shared.
  static Result<UdpSocket> Bind(const SocketAddress& local, const Options& options, bool joins);
  enum class Outcome : uint8_t {
    kGone,         // Sent, or lost on the way.
    kLater,        // To be offered again.
    kUnsegmented,  // The kernel does not cut these: they have to go one by one.
  };
  Outcome Settle(int error, bool segmented);
  Outcome SendSegmented(const UdpPath& path, std::span<const std::byte> bytes,
                        size_t datagram_bytes);
  // How many bytes are gone.
  size_t SendOneByOne(const UdpPath& path, std::span<const std::byte> bytes, size_t datagram_bytes);
  bool NamesSource(const UdpPath& path) const { return anywhere_ && !path.local.is_wildcard(); }

  Descriptor descriptor_;
  SocketAddress local_;
  bool anywhere_ = false;  // Bound to the wildcard address.
  bool segments_ = false;
  bool coalesces_ = false;
  bool refused_ = false;
  std::unique_ptr<Slots, DeleteSlots> slots_;
};

}  // namespace kvcast
