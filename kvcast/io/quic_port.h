#pragma once

#include <functional>
#include <memory>

#include "kvcast/io/event_loop.h"
#include "kvcast/io/packet_batch.h"
#include "kvcast/io/udp_socket.h"

namespace kvcast {

// A UDP socket on a loop, and the packets that are about to leave by it: what connections share
// that talk from one address. One of them writes at a time.
class QuicPort {
 public:
  struct Calls {
    UdpSocket::Take datagram;
    // After some datagrams: a good moment to answer.
    std::function<void()> pause;
    // The socket takes packets again, after it had taken no more.
    std::function<void()> writable;
    // Nobody listens at the peer, says its machine. Only where the socket has a peer.
    std::function<void()> refused = [] {};
  };
  static Result<std::unique_ptr<QuicPort>> Open(EventLoop& loop, const SocketAddress& local,
                                                const UdpSocket::Options& options, Calls calls);
  static Result<std::unique_ptr<QuicPort>> Open(EventLoop& loop, UdpSocket socket, Calls calls);

  EventLoop& loop() { return *loop_; }
  const SocketAddress& local() const { return socket_.local(); }
  PacketBatch& batch() { return batch_; }
  // Nothing may be written to the batch while this holds.
  bool blocked() const { return blocked_; }
  // Sends the batch, now or when the socket can.
  void Send();

 private:
  QuicPort(EventLoop& loop, UdpSocket socket, Calls calls)
      : loop_(&loop),
        socket_(std::move(socket)),
        calls_(std::move(calls)),
        refusal_(loop, [this] { calls_.refused(); }) {}
  void NoteRefusal();
  void OnReady(LoopWatch::Ready ready);

  EventLoop* loop_;
  UdpSocket socket_;
  Calls calls_;
  std::unique_ptr<LoopWatch> watch_;
  PacketBatch batch_;
  bool blocked_ = false;
  LoopTimer refusal_;  // Told in the loop's next turn, since it shows in the middle of sending.
};

}  // namespace kvcast
