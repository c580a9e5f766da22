#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "kvcast/base/result.h"
#include "kvcast/engine/node_address.h"
#include "kvcast/host/relay_uri.h"
#include "kvcast/io/event_loop.h"
#include "kvcast/io/quic_client.h"
#include "kvcast/io/signal_watch.h"
#include "kvcast/moqt/session.h"

namespace kvcast {

// A MoQT session with any relay, for commands that do one thing after the other: nothing happens
// but within Next() and the functions that wait.
//
// Several may share a loop: while one is waited for, all go on. Must not outlive the loop.
class RelayConnection {
 public:
  struct Options {
    RelayUri relay;
    ServerTrust trust;
    std::optional<CertificateFiles> own;
    std::vector<SocketAddress> places = {};  // None: those that the relay's name has.
    QuicOptions quic = {};
    std::string token = {};  // To send to a relay that knows its clients by tokens; never logged.
  };
  // A node, taken for a relay like any other.
  static Options OptionsOf(const NodeAddress& node);
  // Connects, and waits for the relay's SETUP.
  static Result<std::unique_ptr<RelayConnection>> Open(EventLoop& loop, const Options& options,
                                                       Instant deadline);
  // Says goodbye, if that can be done at once.
  ~RelayConnection();
  RelayConnection(const RelayConnection&) = delete;
  RelayConnection& operator=(const RelayConnection&) = delete;

  // To command; what it is told leaves when something is next waited for.
  moqt::Session& session();
  const moqt::Setup& relay_setup() const { return relay_setup_; }
  // The id that our first packet was addressed to, in hex: what the relay's traces call us.
  const std::string& connection_id() const { return connection_id_; }

  // Ctrl-C ends waits from now on, instead of the process.
  Result<void> WatchSignals();
  bool interrupted() const { return interrupted_; }

  // From now on, requests of the relay's come out of Next() only if `serves` says so of their
  // event; others are refused with NOT_SUPPORTED. A relay may ask for anything, and must be
  // answered.
  void ServeOnly(std::function<bool(const moqt::Event&)> serves) { serves_ = std::move(serves); }

  // What the session says next; absent at `deadline`, or when interrupted. The session's end is an
  // error, with the relay's name, the code and the reason that it gave: the same words as where
  // Open() had still been waiting, since it is chance which of the two hears of it.
  Result<std::optional<moqt::Event>> Next(Instant deadline);
  // The answer to a request of ours: its acceptance (RequestAccepted or FetchAccepted), or an error
  // with the relay's code and reason. `what` names the request to people. Other events are kept,
  // and come out of Next() later, in order.
  Result<moqt::Event> Answer(moqt::RequestId request, const std::string& what, Instant deadline);
  // Waits until the relay has acknowledged everything that was sent; false if it has not in time.
  Result<bool> AwaitDelivery(Instant deadline);
  // Ends the session, and waits until that has been said; whether it was, and nothing had gone
  // wrong before.
  bool Close();

 private:
  explicit RelayConnection(EventLoop& loop) : loop_(&loop) {}
  static Result<std::unique_ptr<RelayConnection>> OpenAny(EventLoop& loop, const Options& options,
                                                          Instant deadline);
  Result<void> Connect(const Options& options, const SocketAddress& place);
  Result<bool> IsReady();
  Result<void> AwaitSetup(Instant deadline);
  std::optional<moqt::Event> TakeEvent();
  Result<std::optional<moqt::Event>> NextOfSession(Instant deadline);
  Error End(const moqt::SessionClosed& closed) const;
  void Turn(Instant deadline);

  EventLoop* loop_;
  std::unique_ptr<SignalWatch> signals_;
  std::unique_ptr<QuicClient> quic_;
  moqt::Session* session_ = nullptr;  // The connection's.
  std::string name_;  // The relay's, once it is open: what fails before, Open() names.
  moqt::Setup relay_setup_;
  std::string connection_id_;
  std::function<bool(const moqt::Event&)> serves_;  // None: everything.
  std::deque<moqt::Event> kept_;
  std::optional<Error> end_;
  bool commanded_ = false;
  bool interrupted_ = false;
};

}  // namespace kvcast
