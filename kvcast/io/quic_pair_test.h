#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "kvcast/base/random.h"
#include "kvcast/io/clock.h"
#include "kvcast/io/impairment_proxy.h"
#include "kvcast/io/loop_until_test.h"
#include "kvcast/io/quic_client.h"
#include "kvcast/io/quic_server.h"
#include "kvcast/io/scratch_directory.h"

namespace kvcast {

inline Bytes RandomBytes(size_t size) {
  Random random(7);
  std::vector<std::byte> bytes(size);
  random.Fill(bytes);
  return Bytes::Copy(bytes);
}

// The first streams of a client, and of a server.
inline constexpr moqt::StreamId kClientBidi = 0;
inline constexpr moqt::StreamId kClientUni = 2;
inline constexpr moqt::StreamId kServerUni = 3;

// What a stream brought.
struct Arrival {
  std::string bytes;
  bool fin = false;
  std::optional<uint64_t> reset;
  std::optional<uint64_t> stop;
  uint64_t sent_bytes = 0;  // Of what we wrote to it, as we were told.
  bool delivered = false;   // All of that, as we were told.
};

// A session without a protocol: it keeps what arrives, and does what a test says.
class TestUser : public moqt::TransportUser {
 public:
  std::map<moqt::StreamId, Arrival> streams;
  std::vector<moqt::StreamId> ended;  // Streams in the order in which their fin came.
  std::vector<std::string> datagrams;
  std::map<uint64_t, uint64_t> datagrams_gone;  // Of ours, by request.
  std::optional<uint64_t> streams_allowed;
  std::optional<std::pair<uint64_t, std::string>> closed;
  std::function<bool(moqt::StreamId)> grants = [](moqt::StreamId) { return true; };
  bool echoes = false;
  bool has_room = true;          // For streams in place of those that are over.
  size_t used_up = 0;            // How often we were told that it can begin none.
  Instant told{};                // How late it is.
  size_t most_sent_at_once = 0;  // Reports of bytes sent, before we were asked what to do.
  QuicConnection* connection = nullptr;

  void Act(moqt::TransportAction action) {
    actions_.push_back(std::move(action));
    connection->Poke();
  }
  void Send(moqt::StreamId stream, Bytes bytes, bool fin) {
    Act(moqt::SendBytes{stream, std::move(bytes), fin});
  }
  void Open(moqt::StreamId stream, moqt::SendOrder order = {}) {
    Act(moqt::OpenStream{stream, order});
  }

  void OnTime(Instant now) override { told = now; }
  bool MayOpenMore() const override { return has_room; }
  void OnStreamsUsedUp() override { ++used_up; }
  void OnStreamData(moqt::StreamId stream, std::span<const std::byte> bytes, bool fin) override {
    Arrival& arrival = streams[stream];
    EXPECT_FALSE(arrival.fin || arrival.reset) << "after the end of stream " << stream;
    arrival.bytes += AsText(bytes);
    arrival.fin = fin;
    if (fin) {
      ended.push_back(stream);
    }
    if (grants(stream) && !bytes.empty()) {
      actions_.push_back(moqt::StreamCredit{stream, bytes.size()});
      actions_.push_back(moqt::ConnectionCredit{bytes.size()});
    }
    if (echoes && !moqt::IsUni(stream)) {
      actions_.push_back(moqt::SendBytes{stream, Bytes::Copy(bytes), fin});
    }
  }
  void OnStreamReset(moqt::StreamId stream, uint64_t code) override {
    EXPECT_FALSE(streams[stream].fin || streams[stream].reset);
    streams[stream].reset = code;
  }
  void OnStopSending(moqt::StreamId stream, uint64_t code) override {
    EXPECT_FALSE(streams[stream].stop.has_value());
    streams[stream].stop = code;
  }
  void OnBytesSent(moqt::StreamId stream, uint64_t bytes) override {
    streams[stream].sent_bytes += bytes;
    most_sent_at_once = std::max(most_sent_at_once, ++sent_reports_);
  }
  void OnDelivered(moqt::StreamId stream) override {
    EXPECT_FALSE(streams[stream].delivered);
    streams[stream].delivered = true;
  }
  void OnDatagramsGone(uint64_t request, uint64_t count) override {
    datagrams_gone[request] += count;
  }
  void OnDatagram(std::span<const std::byte> bytes) override {
    datagrams.emplace_back(AsText(bytes));
  }
  void OnStreamsAllowed(uint64_t bidi_total) override { streams_allowed = bidi_total; }
  void OnConnectionClosed(uint64_t code, std::string_view reason) override {
    EXPECT_FALSE(closed.has_value());
    closed.emplace(code, std::string(reason));
  }
  std::optional<moqt::TransportAction> NextAction() override {
    sent_reports_ = 0;
    if (actions_.empty()) {
      return std::nullopt;
    }
    auto action = std::move(actions_.front());
    actions_.pop_front();
    return action;
  }

 private:
  std::deque<moqt::TransportAction> actions_;
  size_t sent_reports_ = 0;
};

// A client and a server in one loop, over loopback.
class QuicPairTest : public testing::Test {
 protected:
  static constexpr Duration kPatience = std::chrono::seconds(120);  // Only so as not to hang.

  void SetUp() override {
    loop_ = *EventLoop::Make();
    scratch_ = std::make_unique<ScratchDirectory>(*ScratchDirectory::Make());
  }

  ServerCredentials ServersOwn() { return *ServerCredentials::Development(scratch_->path()); }

  // `prepare` is called with the server's session as soon as there is one.
  void Listen(
      const QuicServer::Options& options = {},
      const std::function<void(TestUser&)>& prepare = [](TestUser&) {}) {
    server_ = *QuicServer::Listen(*loop_, listen_, ServersOwn(), options,
                                  [this, prepare](QuicConnection& connection) {
                                    auto user = std::make_unique<TestUser>();
                                    user->connection = &connection;
                                    server_user_ = user.get();
                                    prepare(*user);
                                    return user;
                                  });
  }

  Result<std::unique_ptr<QuicClient>> TryConnect(ServerTrust trust, const QuicOptions& options) {
    KVCAST_TRY(const ClientCredentials credentials, ClientCredentials::Make(std::move(trust)));
    const SocketAddress target = target_ ? *target_ : (proxy_ ? proxy_->local() : server_->local());
    return QuicClient::Connect(*loop_, {target, "localhost"}, credentials, options,
                               [this](QuicConnection& connection) {
                                 auto user = std::make_unique<TestUser>();
                                 user->connection = &connection;
                                 client_user_ = user.get();
                                 return user;
                               });
  }
  void Connect(const QuicOptions& options = {}) {
    client_ = *TryConnect(PinnedCertificate{ServersOwn().fingerprint()}, options);
  }

  // From now on, clients connect through a network like this.
  void Impair(ImpairmentProxy::Options options, uint16_t port = 0) {
    options.listen = SocketAddress::Loopback(port);
    options.server = server_->local();
    proxy_ = *ImpairmentProxy::Start(*loop_, options);
  }

  // Turns the loop until `done`, or for as long as patience lasts.
  bool Until(const std::function<bool()>& done) { return LoopUntil(*loop_, kPatience, done); }
  void ListenAndConnect(
      const QuicServer::Options& options = {},
      const std::function<void(TestUser&)>& prepare = [](TestUser&) {}) {
    Listen(options, prepare);
    Connect(options.connection);
    ASSERT_TRUE(Until([&] { return server_user_ != nullptr || client_user_->closed; }));
    ASSERT_FALSE(client_user_->closed.has_value()) << client_user_->closed->second;
  }

  std::unique_ptr<EventLoop> loop_;
  std::unique_ptr<ScratchDirectory> scratch_;
  SocketAddress listen_ = SocketAddress::Loopback(0);
  std::optional<SocketAddress> target_;  // Where clients connect to, if not there.
  std::unique_ptr<QuicServer> server_;
  std::unique_ptr<ImpairmentProxy> proxy_;
  std::unique_ptr<QuicClient> client_;
  TestUser* server_user_ = nullptr;
  TestUser* client_user_ = nullptr;
};

}  // namespace kvcast
