#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "kvcast/base/random.h"
#include "kvcast/base/time.h"
#include "kvcast/client/client.h"
#include "kvcast/engine/node_address.h"
#include "kvcast/engine/node_session.h"
#include "kvcast/io/event_loop.h"
#include "kvcast/io/name_lookup.h"
#include "kvcast/io/quic_client.h"
#include "kvcast/io/socket_address.h"

namespace kvcast {

// A client's session to a node, or to one of several that will do as well: opened again whenever
// it is lost, for ever. The next node is tried at once, and after all of them there is a pause that
// doubles, and differs from engine to engine. Whoever asks meanwhile is told that there is none,
// and waits for nothing. Belongs to the loop's thread.
class NodeLink {
 public:
  static constexpr Duration kFirstPause = std::chrono::milliseconds(200);
  static constexpr Duration kLongestPause = std::chrono::seconds(10);
  // Who has not answered by then is left, if there is another one.
  static constexpr Duration kAnswerWithin = std::chrono::seconds(1);

  // Where to begin, instead of anywhere. If nobody is there, that is the end.
  struct First {
    size_t node = 0;  // Of the addresses.
    SocketAddress place;
  };
  // `tell` is called on the loop's thread, and must not touch the link. REQUIRES: an address.
  NodeLink(EventLoop& loop, std::vector<NodeAddress> addresses, const ClientOptions& options,
           std::function<void(const ClientEvent&)> tell,
           const std::optional<First>& first = std::nullopt);
  ~NodeLink();
  NodeLink(const NodeLink&) = delete;
  NodeLink& operator=(const NodeLink&) = delete;

  // Null unless what the node holds is known. Good until the loop goes round.
  NodeSession* session() { return ready_ ? session_ : nullptr; }
  // Another one for each session: operations are numbered anew in each.
  uint64_t number() const { return number_; }
  // For good; polite if the loop goes round a few times before this is destroyed.
  void Close();
  bool closed() const { return quic_ == nullptr || quic_->connection().closed(); }

 private:
  void Begin();
  void OnPlaces(NameLookup::Places places);
  void Connect();
  Result<void> ConnectTo(const SocketAddress& place);
  bool HasAnother() const;
  void LookForAnswer();
  void OnEvent(const ClientEvent& event);
  void Lose(const std::string& reason);

  EventLoop* loop_;
  const std::vector<NodeAddress> addresses_;
  const ClientOptions options_;
  std::function<void(const ClientEvent&)> tell_;
  Random random_;
  std::unique_ptr<NameLookup> lookup_;
  size_t node_ = 0;                    // Which of them it is.
  size_t failed_ = 0;                  // Nodes in a row.
  std::vector<SocketAddress> places_;  // The node's.
  size_t next_place_ = 0;
  bool once_ = false;  // There is no second attempt.
  Duration pause_ = kFirstPause;
  uint64_t number_ = 0;
  bool ready_ = false;
  bool lost_ = true;
  bool closed_ = false;
  LoopTimer timer_;
  LoopTimer answer_timer_;
  NodeSession* session_ = nullptr;    // The connection's.
  std::unique_ptr<QuicClient> quic_;  // Last: its end is told of.
};

}  // namespace kvcast
