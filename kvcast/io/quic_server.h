#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "kvcast/base/result.h"
#include "kvcast/io/event_loop.h"
#include "kvcast/io/handshake_book.h"
#include "kvcast/io/port_share.h"
#include "kvcast/io/quic_connection.h"
#include "kvcast/io/quic_credentials.h"
#include "kvcast/io/quic_options.h"
#include "kvcast/io/stateless_answers.h"

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
    // Of those, how many may still be proving who they are: it costs a client nothing to begin. At
    // so many the oldest goes, of the network that has most, when another comes that has shown
    // where it is: whoever begins and never ends keeps nobody out but his neighbours.
    size_t handshakes_max = 256;
    // From so many on, a client has to show first that it is where it says, which costs it a round
    // trip: what comes from made-up addresses then takes no place of others.
    size_t handshakes_before_retry = 64;
    // Peers of an earlier server with the same secret, which knows nothing of their connections any
    // more, are told so when they send. Absent: a new one, and they notice by silence.
    std::optional<Digest> secret;
    // How often that is done in a second: it must not be of use for flooding anybody.
    uint64_t resets_per_second = 200;
    // Called with every client that is turned away for its certificate, or for want of one.
    std::function<void(const SocketAddress& from, const std::string& reason)> on_untrusted;
    // Where servers share a port: which of them it is, and what is done with packets that have come
    // here and are another's. What that one is given it takes by Receive().
    PortShare share;
    std::function<void(size_t home, const UdpPath& path, std::span<const std::byte> datagram)>
        pass_on;
  };
  // `make_user` is called once for every connection whose handshake is over.
  static Result<std::unique_ptr<QuicServer>> Listen(EventLoop& loop, const SocketAddress& local,
                                                    const ServerCredentials& credentials,
                                                    const Options& options,
                                                    QuicConnection::MakeUser make_user);
  static Result<std::unique_ptr<QuicServer>> Listen(EventLoop& loop, UdpSocket socket,
                                                    const ServerCredentials& credentials,
                                                    const Options& options,
                                                    QuicConnection::MakeUser make_user);
  ~QuicServer() override;

  // A datagram that came to another server on the same port.
  void Receive(const UdpPath& path, std::span<const std::byte> datagram);

  // For connections from now on; those that are there keep what they began with. What tells peers
  // of an earlier server stays, too, and so does what it shares.
  void Renew(const ServerCredentials& credentials, const Options& options);

  // Where it listens, with the port that the system chose if none was asked for.
  const SocketAddress& local() const { return port_->local(); }
  size_t connections() const { return connections_.size(); }
  size_t handshakes() const { return handshakes_.size(); }
  // How many clients were asked to come again, and how many peers told that we do not know them.
  uint64_t retries() const { return retries_; }
  uint64_t resets() const { return resets_; }

  void OnIdIssued(QuicConnection& connection, const ngtcp2_cid& id) override;
  void OnIdRetired(const ngtcp2_cid& id) override;
  void OnReady(QuicConnection& connection) override;
  void OnUntrusted(QuicConnection& connection, const std::string& reason) override;
  void OnGone(QuicConnection& connection) override;

 private:
  QuicServer(EventLoop& loop, ServerCredentials credentials, Options options,
             QuicConnection::MakeUser make_user);
  void OnDatagram(const UdpPath& path, std::span<const std::byte> datagram);
  QuicConnection* Accept(const UdpPath& path, std::span<const std::byte> datagram);
  QuicConnection* Admit(const UdpPath& path, const QuicConnection::FirstPacket& first);
  void SayReset(const UdpPath& path, std::span<const uint8_t> id, size_t received_bytes);
  // Sends a packet, which `write` writes to the room it is given; false if none was.
  template <typename Write>
  bool Answer(const UdpPath& path, Write write);
  void Touch(QuicConnection& connection);
  void FlushTouched();
  void FlushAll();
  void BuryGone();
  void Bury(QuicConnection& connection);

  ServerCredentials credentials_;
  Options options_;
  QuicConnection::MakeUser make_user_;
  Digest secret_;
  StatelessAnswers answers_;
  std::unique_ptr<QuicPort> port_;

  struct Entry {
    std::unique_ptr<QuicConnection> connection;
    std::vector<std::string> ids;
    bool touched = false;
  };
  std::unordered_map<QuicConnection*, Entry> connections_;
  std::unordered_map<std::string, QuicConnection*> by_id_;
  HandshakeBook<QuicConnection*> handshakes_;
  uint64_t retries_ = 0;
  uint64_t resets_ = 0;
  uint64_t resets_left_ = 0;  // Until the second is over that began at
  Instant resets_since_{};
  std::vector<QuicConnection*> touched_;  // Packets came for them, and no answer left yet.
  std::vector<QuicConnection*> gone_;
  LoopTimer burial_;
};

}  // namespace kvcast
