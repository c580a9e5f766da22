#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string_view>

#include "kvcast/base/chunk.h"
#include "kvcast/client/client.h"
#include "kvcast/io/event_loop.h"
#include "kvcast/io/quic_connection.h"
#include "kvcast/io/worker_team.h"
#include "kvcast/moqt/session.h"
#include "kvcast/moqt/transport.h"

namespace kvcast {

// A client on a connection: hands what arrives to the session, lets the client look at it, and says
// what came of it. Caches are encoded and decoded by the process's team of threads. Belongs to the
// connection, and to its loop's thread.
class NodeSession final : public moqt::TransportUser {
 public:
  // `tell` is called on the loop's thread, and must not touch the session.
  NodeSession(EventLoop& loop, QuicConnection& connection, const moqt::Setup& setup,
              const ClientOptions& options, std::function<void(ClientEvent)> tell);

  // Commands the client; what it says in answer is told before this returns.
  void Command(const std::function<void(Client&)>& command);

  void OnTime(Instant now) override { session_.OnTime(now); }
  bool MayOpenMore() const override { return session_.MayOpenMore(); }
  void OnStreamsUsedUp() override {
    session_.OnStreamsUsedUp();
    Settle();
  }
  void OnStreamData(moqt::StreamId stream, std::span<const std::byte> bytes, bool fin) override;
  void OnStreamReset(moqt::StreamId stream, uint64_t code) override;
  void OnStopSending(moqt::StreamId stream, uint64_t code) override;
  void OnBytesSent(moqt::StreamId stream, uint64_t bytes) override;
  void OnDelivered(moqt::StreamId stream) override;
  void OnDatagramsGone(uint64_t request, uint64_t count) override;
  void OnDatagram(std::span<const std::byte> bytes) override;
  void OnStreamsAllowed(uint64_t bidi_total) override;
  void OnConnectionClosed(uint64_t code, std::string_view reason) override;
  std::optional<moqt::TransportAction> NextAction() override;

 private:
  void OnWorkDone();
  void Settle();

  QuicConnection* connection_;
  ChunkPool payload_chunks_;
  moqt::Session session_;
  TeamExecutor executor_;
  Client client_;
  std::function<void(ClientEvent)> tell_;
  LoopTimer timer_;
  bool has_input_ = false;  // That the client has not looked at.
};

}  // namespace kvcast
