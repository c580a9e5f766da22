#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>

#include "kvcast/base/result.h"
#include "kvcast/io/descriptor.h"
#include "kvcast/io/socket_address.h"

namespace kvcast {

// A UDP socket that never waits, and moves many datagrams with one system call where the kernel
// does (GSO and GRO); without that, QUIC here runs at a tenth of its speed.
//
// Path MTU discovery is QUIC's: the kernel never fragments, and datagrams that are too large for
// the way are lost as if it had been on the way.
class UdpSocket {
 public:
  struct Options {
    // Asked for; the system may grant less.
    int receive_buffer_bytes = 16 * 1024 * 1024;
    int send_buffer_bytes = 4 * 1024 * 1024;
    // Off: one system call a datagram, as on kernels that have neither.
    bool offload = true;
  };
  static Result<UdpSocket> Bind(const SocketAddress& local, const Options& options);
  static Result<UdpSocket> Bind(const SocketAddress& local) { return Bind(local, Options()); }

  int descriptor() const { return descriptor_.number(); }
  const SocketAddress& local() const { return local_; }
  bool segments() const { return segments_; }
  bool coalesces() const { return coalesces_; }

  // The most bytes that one Send() takes, and the most datagrams.
  static constexpr size_t kSendBytesMax = 65'507;
  static constexpr size_t kSendDatagramsMax = 64;

  // Sends `bytes` as datagrams of `datagram_bytes` each, the last of which may be shorter. Returns
  // how many bytes need not be offered again: all, unless the socket's buffer is full. What the
  // system refuses for another reason is lost on the way, as UDP is allowed to be.
  size_t Send(const SocketAddress& to, std::span<const std::byte> bytes, size_t datagram_bytes);

  // Calls `take` with each datagram that is there, up to some hundred; false when none was. The
  // bytes are only lent.
  using Take = std::function<void(const SocketAddress& from, std::span<const std::byte> datagram)>;
  bool Receive(const Take& take);

 private:
  struct Slots;
  struct DeleteSlots {
    void operator()(Slots* slots) const;
  };

  UdpSocket(Descriptor descriptor, SocketAddress local);
  // True if the datagrams are off, one way or another; false to offer them again later.
  bool SendOnce(const SocketAddress& to, std::span<const std::byte> bytes, size_t datagram_bytes);

  Descriptor descriptor_;
  SocketAddress local_;
  bool segments_ = false;
  bool coalesces_ = false;
  std::unique_ptr<Slots, DeleteSlots> slots_;
};

}  // namespace kvcast
