#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "kvcast/client/scripted_node_test.h"
#include "kvcast/engine/node_address.h"
#include "kvcast/io/clock.h"
#include "kvcast/io/loop_thread.h"
#include "kvcast/io/quic_server.h"
#include "kvcast/io/scratch_directory.h"
#include "kvcast/moqt/session.h"

namespace kvcast {

// A scripted node at the end of a real connection.
class ScriptedSession final : public moqt::TransportUser {
 public:
  explicit ScriptedSession(const NodeScript& script)
      : session_(moqt::Role::kServer, {}, {}, Now()), node_(session_) {
    node_.script = script;
  }
  ScriptedNode& node() { return node_; }
  moqt::Session& session() { return session_; }

  void OnStreamData(moqt::StreamId stream, std::span<const std::byte> bytes, bool fin) override {
    session_.OnStreamData(stream, bytes, fin);
  }
  void OnStreamReset(moqt::StreamId stream, uint64_t code) override {
    session_.OnStreamReset(stream, code);
  }
  void OnStopSending(moqt::StreamId stream, uint64_t code) override {
    session_.OnStopSending(stream, code);
  }
  void OnBytesSent(moqt::StreamId stream, uint64_t bytes) override {
    session_.OnBytesSent(stream, bytes);
  }
  void OnDelivered(moqt::StreamId stream) override { session_.OnDelivered(stream); }
  void OnDatagramsGone(uint64_t request, uint64_t count) override {
    session_.OnDatagramsGone(request, count);
  }
  void OnConnectionClosed(uint64_t code, std::string_view reason) override {
    session_.OnConnectionClosed(code, reason);
  }
  std::optional<moqt::TransportAction> NextAction() override {
    node_.OnInput();
    return session_.NextAction();
  }

 private:
  moqt::Session session_;
  ScriptedNode node_;
};

// A server of scripted nodes on loopback: each connection has one of its own, which `prepare` may
// look after before anything comes.
class ScriptedServer {
 public:
  explicit ScriptedServer(const NodeScript& script = {},
                          std::function<void(ScriptedNode&)> prepare = {})
      : script_(script), prepare_(std::move(prepare)) {
    Listen(SocketAddress::Loopback(0));
  }
  ~ScriptedServer() {
    thread_->Run([&] { server_.reset(); });
  }

  NodeAddress address() const { return {place_, PinnedCertificate{credentials_.fingerprint()}}; }
  // As it is typed.
  std::string flag() const { return place_ + "#" + credentials_.fingerprint().ToHex(); }
  // With the node of the last connection, on its thread.
  void WithNode(const std::function<void(ScriptedNode&)>& act) {
    thread_->Run([&] {
      act(last_->node());
      last_connection_->Poke();
    });
  }
  void CloseLast() {
    thread_->Run([&] { last_connection_->Close(1, "The node has had enough."); });
  }
  // It is no more, and says so to who is connected; until it is back, at the same place, and
  // remembers nothing.
  void Leave() {
    CloseLast();
    thread_->Run([&] { server_.reset(); });
  }
  void Return() { Listen(*SocketAddress::Resolve(place_)); }

 private:
  void Listen(const SocketAddress& at) {
    thread_->Run([&] {
      server_ = *QuicServer::Listen(thread_->loop(), at, credentials_, {},
                                    [this](QuicConnection& connection) {
                                      auto user = std::make_unique<ScriptedSession>(script_);
                                      last_ = user.get();
                                      last_connection_ = &connection;
                                      if (prepare_) {
                                        prepare_(user->node());
                                      }
                                      return user;
                                    });
      place_ = server_->local().ToString();
    });
  }

  const NodeScript script_;
  const std::function<void(ScriptedNode&)> prepare_;
  ScratchDirectory scratch_ = *ScratchDirectory::Make();
  ServerCredentials credentials_ = *ServerCredentials::Development(scratch_.path());
  std::unique_ptr<LoopThread> thread_ = *LoopThread::Make();
  std::unique_ptr<QuicServer> server_;
  std::string place_;
  ScriptedSession* last_ = nullptr;
  QuicConnection* last_connection_ = nullptr;
};

}  // namespace kvcast
