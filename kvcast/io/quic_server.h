#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "kvcast/base/result.h"
#include "kvcast/io/event_loop.h"
#include "kvcast/io/quic_connection.h"
#include "kvcast/io/quic_credentials.h"
#include "kvcast/io/quic_options.h"

namespace kvcast {

// Accepts QUIC connections on one UDP socket, each with a session of its own.
//
// Must not be destroyed from within one of its sessions.
class QuicServer : public QuicConnectionOwner {
 public:
  struct Options {
    QuicOptions connection;
    UdpSocket::Options socket;
    // Clients beyond these are not answered, and try again.
    size_t connections_max = 10'000;
    // Of those, how many may still be proving who they are: it costs a client nothing to begin.
    size_t handshakes_max = 256;
  };
  // `make_user` is called once for every connection whose handshake is over.
  static Result<std::unique_ptr<QuicServer>> Listen(EventLoop& loop, const SocketAddress& local,
                                                    const ServerCredentials& credentials,
                                                    const Options& options,
                                                    QuicConnection::MakeUser make_user);
  ~QuicServer() override;

  // Where it listens, with the port that the system chose if none was asked for.
  const SocketAddress& local() const { return port_->local(); }
  size_t connections() const { return connections_.size(); }
  size_t handshakes() const { return handshakes_; }

  void OnIdIssued(QuicConnection& connection, const ngtcp2_cid& id) override;
  void OnIdRetired(const ngtcp2_cid& id) override;
  void OnReady(QuicConnection& connection) override;
  void OnGone(QuicConnection& connection) override;

 private:
  QuicServer(EventLoop& loop, ServerCredentials credentials, Options options,
             QuicConnection::MakeUser make_user);
  void OnDatagram(const SocketAddress& from, std::span<const std::byte> datagram);
  QuicConnection* Accept(const SocketAddress& from, std::span<const std::byte> datagram);
  void OfferVersions(const SocketAddress& to, const ngtcp2_version_cid& asked);
  void Touch(QuicConnection& connection);
  void FlushTouched();
  void FlushAll();
  void BuryGone();

  ServerCredentials credentials_;
  Options options_;
  QuicConnection::MakeUser make_user_;
  std::unique_ptr<QuicPort> port_;

  struct Entry {
    std::unique_ptr<QuicConnection> connection;
    std::vector<std::string> ids;
    bool handshaking = true;
    bool touched = false;
  };
  std::unordered_map<QuicConnection*, Entry> connections_;
  std::unordered_map<std::string, QuicConnection*> by_id_;
  size_t handshakes_ = 0;
  std::vector<QuicConnection*> touched_;  // Packets came for them, and no answer left yet.
  std::vector<QuicConnection*> gone_;
  LoopTimer burial_;
};

}  // namespace kvcast
