#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include "kvcast/base/result.h"
#include "kvcast/io/event_loop.h"
#include "kvcast/io/impaired_link.h"
#include "kvcast/io/packet_batch.h"
#include "kvcast/io/udp_socket.h"

namespace kvcast {

// A bad network between clients and a server, for tests and for people: UDP that comes to it goes
// on to the server late, twice, out of order, damaged or not at all, and so do answers.
//
// Every client gets a socket of its own towards the server, so the server tells them apart. All
// share one link each way: its rate is that of all together. Datagrams may be as large as
// loopback's.
class ImpairmentProxy {
 public:
  struct Options {
    SocketAddress listen;  // Port 0 takes a free one.
    SocketAddress server;
    ImpairedLink::Options there;  // From clients to the server,
    ImpairedLink::Options back;   // and from it.
    // Clients at a time; of more, the one that was silent for longest is forgotten.
    size_t clients_max = 1024;
    // Bytes under way at a time, both ways together. What comes beyond is lost.
    size_t held_bytes_max = 256 * 1024 * 1024;
  };
  static Result<std::unique_ptr<ImpairmentProxy>> Start(EventLoop& loop, const Options& options);
  ImpairmentProxy(const ImpairmentProxy&) = delete;
  ImpairmentProxy& operator=(const ImpairmentProxy&) = delete;

  // Where clients are to send to.
  const SocketAddress& local() const { return front_->local(); }

  const ImpairedLink::Counts& there() const { return there_.counts(); }
  const ImpairedLink::Counts& back() const { return back_.counts(); }
  // Lost because too much was under way, or a socket took no more: not what was asked for.
  uint64_t unintended_losses() const { return unintended_losses_; }

 private:
  struct Client {
    UdpPath path;
    std::unique_ptr<UdpSocket> socket;
    std::unique_ptr<LoopWatch> watch;
    uint64_t id = 0;
  };
  struct Held {
    uint64_t client = 0;
    bool there = false;
    std::vector<std::byte> bytes;
  };

  ImpairmentProxy(EventLoop& loop, const Options& options);
  void OnClientDatagram(const UdpPath& path, std::span<const std::byte> datagram);
  void Pass(uint64_t client, bool there, std::span<const std::byte> datagram);
  void Hold(Instant arrival, uint64_t client, bool there, std::span<const std::byte> datagram);
  // The one on this path, made if need be; null where the machine gives no socket.
  Client* ClientOn(const UdpPath& path);
  void ForgetSilentClients();
  void Deliver();
  void Flush();

  EventLoop* loop_;
  Options options_;
  ImpairedLink there_;
  ImpairedLink back_;
  std::unique_ptr<UdpSocket> front_;
  std::unique_ptr<LoopWatch> watch_;

  std::list<Client> clients_;  // The one that was silent for longest is last.
  std::unordered_map<uint64_t, std::list<Client>::iterator> by_id_;
  std::unordered_map<std::string, uint64_t> by_path_;
  uint64_t next_id_ = 0;

  std::multimap<Instant, Held> held_;  // In the order of their arrivals, and of equals as sent.
  size_t held_bytes_ = 0;
  uint64_t unintended_losses_ = 0;
  PacketBatch batch_;
  UdpSocket* batch_socket_ = nullptr;  // Through which it leaves.
  LoopTimer timer_;
};

}  // namespace kvcast
