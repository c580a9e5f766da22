#include "kvcast/io/quic_port.h"

#include "kvcast/io/clock.h"

namespace kvcast {
namespace {

// How often a socket is asked for more before others have their turn.
constexpr int kReceivesPerTurn = 8;

}  // namespace

Result<std::unique_ptr<QuicPort>> QuicPort::Open(EventLoop& loop, const SocketAddress& local,
                                                 const UdpSocket::Options& options, Calls calls) {
  KVCAST_TRY(UdpSocket socket, UdpSocket::Bind(local, options));
  return Open(loop, std::move(socket), std::move(calls));
}

Result<std::unique_ptr<QuicPort>> QuicPort::Open(EventLoop& loop, UdpSocket socket, Calls calls) {
  std::unique_ptr<QuicPort> port(new QuicPort(loop, std::move(socket), std::move(calls)));
  KVCAST_TRY(port->watch_,
             LoopWatch::Make(loop, port->socket_.descriptor(),
                             [p = port.get()](LoopWatch::Ready ready) { p->OnReady(ready); }));
  return port;
}

void QuicPort::NoteRefusal() {
  if (socket_.TakeRefusal()) {
    refusal_.Set(Now());
  }
}

void QuicPort::Send() {
  const bool blocked = !batch_.Send(socket_);
  NoteRefusal();
  if (blocked != blocked_) {
    blocked_ = blocked;
    watch_->WantWritable(blocked);
  }
}

void QuicPort::OnReady(LoopWatch::Ready ready) {
  if (ready.writable && blocked_) {
    Send();
    if (!blocked_) {
      calls_.writable();
    }
  }
  for (int i = 0; ready.readable && i < kReceivesPerTurn; ++i) {
    ready.readable = socket_.Receive(calls_.datagram);
    if (ready.readable) {
      calls_.pause();
    }
  }
  NoteRefusal();
}

}  // namespace kvcast
