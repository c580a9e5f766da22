#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include "kvcast/moqt/codec.h"
#include "kvcast/moqt/frame.h"
#include "kvcast/moqt/limits.h"
#include "kvcast/moqt/request_ids.h"
#include "kvcast/moqt/shared_request.h"
#include "kvcast/moqt/transport.h"

namespace kvcast::moqt {

// Several of a server's sessions on one connection, each of which has some of the tracks: to the
// peer they are one. Each is a part, made with its SessionShare, and may be elsewhere, as long as
// what stands here in its place passes everything on in order.
//
// A request has a stream of its own, and objects come and go on streams that name their request or
// their track. So what a stream brings is read until it says whose it is, and from there on passed
// on as it comes: payloads by reference where they are sent. Streams that the parts open get
// numbers here. What all parts have to know goes to all: SETUP, GOAWAY, and requests that name a
// prefix, see SharedRequest; of what they say of the session as a whole the peer hears one, the
// home's.
class Junction final : public TransportUser {
 public:
  struct Options {
    const Codec* codec = nullptr;
    Limits limits;
    size_t home = 0;  // Which part speaks for all.
    // Which part has the tracks of a namespace.
    std::function<size_t(const TrackNamespace&)> part_of;
  };
  Junction(Options options, std::vector<std::unique_ptr<TransportUser>> parts);
  ~Junction() override;

  TransportUser& part(size_t index) { return *parts_.at(index).user; }

  void OnTime(Instant now) override;
  bool MayOpenMore() const override;
  void OnStreamsUsedUp() override;
  void OnStreamData(StreamId stream, std::span<const std::byte> bytes, bool fin) override;
  void OnStreamReset(StreamId stream, uint64_t code) override;
  void OnStopSending(StreamId stream, uint64_t code) override;
  void OnBytesSent(StreamId stream, uint64_t bytes) override;
  void OnDelivered(StreamId stream) override;
  void OnDatagramsGone(uint64_t request, uint64_t count) override;
  void OnDatagram(std::span<const std::byte> bytes) override;
  void OnStreamsAllowed(uint64_t bidi_total) override;
  void OnConnectionClosed(uint64_t code, std::string_view reason) override;
  std::optional<TransportAction> NextAction() override;

 private:
  // Late streams of tracks that are over still find their part, of so many.
  static constexpr size_t kAliasesKept = 16 * 1024;

  struct Part {
    std::unique_ptr<TransportUser> user;
    std::unordered_map<StreamId, StreamId> numbers;  // Of two-way streams that it has opened.
    uint64_t opened = 0;                             // How many in all.
    uint64_t surplus = 0;  // Credit it will give for bytes that others give it for as well.
  };
  // A one-way stream of the peer's.
  struct Uni {
    struct Opening {
      OpeningReader reader;
    };
    // Until its track is known.
    struct Waiting {
      uint64_t alias;
      std::string bytes;
      bool fin;
      Instant since;
    };
    struct Routed {
      size_t part;
    };
    struct Control {};
    struct Dropped {};
    std::variant<Opening, Waiting, Routed, Control, Dropped> state;
  };
  // A two-way stream of either side.
  struct Bidi {
    std::optional<FrameReader> first;  // The peer's first message, while it is not whole,
    std::string held;                  // and what came, until it is known whose it is.
    bool held_fin = false;
    std::optional<uint64_t> joins;  // Which request that is not here yet.
    size_t part = 0;
    StreamId number = 0;  // As the part knows it.
    std::unique_ptr<SharedRequest> shared;
    std::optional<uint64_t> alias;      // A track that the peer publishes by it.
    std::optional<uint64_t> joinable;   // The request's id, if it is a subscription.
    bool asked = false;                 // What the part asks has been looked at,
    std::optional<FrameReader> answer;  // and the answer names an alias.
    bool stopped = false;               // The peer was asked to send no more.
    bool in_over = false;
    bool out_over = false;
    uint64_t unsent = 0;
  };
  struct Alias {
    size_t part = 0;
    bool live = false;
  };
  using Bidis = std::unordered_map<StreamId, Bidi>;

  // What the peer sends.
  void OnUniData(StreamId stream, std::span<const std::byte> bytes, bool fin);
  void OnOpening(StreamId stream, Uni& uni, const std::string& begun, const StreamOpening& opening,
                 std::span<const std::byte> rest, bool fin);
  void Await(StreamId stream, Uni& uni, uint64_t alias, std::string bytes, bool fin);
  void Refuse(StreamId stream, Uni& uni, size_t bytes);
  void Hand(StreamId stream, Uni& uni, size_t part, std::span<const std::byte> bytes, bool fin);
  void Drop(size_t bytes);
  void OnFirstData(StreamId stream, Bidi& bidi, std::span<const std::byte> bytes, bool fin);
  void Route(StreamId stream, Bidi& bidi, const std::string& frame);
  std::optional<size_t> PartOf(StreamId stream, Bidi& bidi, const Message& message);
  std::optional<size_t> PartOfJoined(Bidi& bidi, const Fetch& fetch);
  void HandHeld(StreamId stream, Bidi& bidi);
  void HandHome(StreamId stream, Bidi& bidi);
  void ReadAnswer(Bidi& bidi, std::span<const std::byte> bytes);
  bool Hears(const Bidi& bidi, size_t part) const;
  void Share(StreamId stream, Bidi& bidi, std::span<const std::byte> bytes, bool fin);
  void AddAlias(uint64_t alias, size_t part);
  void RetireAlias(uint64_t alias);
  void ResolveJoins(uint64_t request);
  void DropLongWaiting();

  // What parts do.
  std::optional<TransportAction> Translate(size_t part, TransportAction action);
  std::optional<TransportAction> From(size_t part, OpenStream& action);
  std::optional<TransportAction> From(size_t part, SendBytes& action);
  std::optional<TransportAction> From(size_t part, ResetStream& action);
  std::optional<TransportAction> From(size_t part, StopSending& action);
  std::optional<TransportAction> From(size_t part, StreamCredit& action);
  std::optional<TransportAction> From(size_t part, ConnectionCredit& action);
  std::optional<TransportAction> From(size_t part, SendDatagram& action);
  std::optional<TransportAction> From(size_t part, ReorderStream& action);
  std::optional<TransportAction> From(size_t part, CloseConnection& action);
  std::optional<TransportAction> SendControl(SendBytes& action);
  void LookAtRequest(Bidi& bidi, const Bytes& message);
  void TakeSteps(StreamId stream, Bidi& bidi);
  // What the stream is called here, that a part calls so; absent: it is not to be heard of.
  std::optional<StreamId> NumberOf(size_t part, StreamId stream) const;
  bool IsQuietControl(size_t part, StreamId stream) const;
  StreamId UniOf(size_t part, StreamId stream) const;
  std::pair<size_t, StreamId> PartOfUni(StreamId stream) const;
  void TellAllowance();
  void ForgetIfOver(StreamId stream);
  void Fail(SessionCode code, const std::string& reason);

  Options options_;
  std::vector<Part> parts_;
  std::unordered_map<StreamId, Uni> unis_;
  Bidis bidis_;
  RequestIds ids_{0};
  std::unordered_map<uint64_t, Alias> aliases_;
  std::deque<uint64_t> retired_;
  std::unordered_map<uint64_t, size_t> joinable_;  // Subscriptions of the peer's, by id.
  std::multimap<uint64_t, StreamId> early_joins_;  // Fetches that came before those.
  std::map<uint64_t, std::pair<size_t, uint64_t>> datagrams_;  // By request: whose, and how many.
  std::deque<TransportAction> actions_;
  size_t turn_ = 0;
  uint64_t next_bidi_ = 0;
  std::optional<uint64_t> allowed_;
  size_t waiting_bytes_ = 0;
  size_t waiting_streams_ = 0;
  Instant now_;
  bool closed_ = false;
};

}  // namespace kvcast::moqt
