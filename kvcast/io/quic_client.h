#pragma once

#include <memory>
#include <string>

#include "kvcast/base/result.h"
#include "kvcast/io/event_loop.h"
#include "kvcast/io/quic_connection.h"
#include "kvcast/io/quic_credentials.h"
#include "kvcast/io/quic_options.h"

namespace kvcast {

// A connection to a server, and the socket it goes out by.
//
// Destroying it ends the connection without a word; call Close() first and let the loop turn to be
// polite. It must not be destroyed from within its session.
class QuicClient : public QuicConnectionOwner {
 public:
  struct Target {
    SocketAddress address;
    std::string server_name;  // What the server's certificate is for, where authorities sign it.
  };
  // Starts connecting and returns; what comes of it, the session hears.
  static Result<std::unique_ptr<QuicClient>> Connect(EventLoop& loop, const Target& target,
                                                     const ClientCredentials& credentials,
                                                     const QuicOptions& options,
                                                     QuicConnection::MakeUser make_user);

  QuicConnection& connection() { return *connection_; }
  // Whether the connection is over for good: nothing of it is on its way any more.
  bool gone() const { return gone_; }

  void OnIdIssued(QuicConnection&, const ngtcp2_cid&) override {}  // All packets are for it.
  void OnIdRetired(const ngtcp2_cid&) override {}
  void OnReady(QuicConnection&) override {}
  void OnUntrusted(QuicConnection&, const std::string&) override {}  // The session hears of it.
  void OnGone(QuicConnection&) override { gone_ = true; }

 private:
  QuicClient() = default;

  std::unique_ptr<QuicPort> port_;
  std::unique_ptr<QuicConnection> connection_;
  bool gone_ = false;
};

}  // namespace kvcast
