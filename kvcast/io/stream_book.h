#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "kvcast/io/receive_window.h"
#include "kvcast/io/send_queue.h"
#include "kvcast/moqt/transport.h"

namespace kvcast {

struct StreamLane;

// One stream of a connection, from when either side opens it until both halves are over.
struct QuicStream {
  moqt::StreamId id = 0;
  moqt::SendOrder order;
  SendQueue queue;
  std::optional<ReceiveWindow> window;  // Once something of what came was taken.

  bool open = false;          // QUIC has it; before that, bytes may only wait.
  bool starved = false;       // The peer grants no more bytes on it.
  bool send_over = false;     // No more is sent: the end was, or it was given up.
  bool receive_over = false;  // The session knows that no more comes.
  bool stopped = false;       // The peer wants no more of it, and the session does not know.
  // It was given up before anything of it was sent. The peer has to hear of it all the same, or it
  // would count it as open for ever, and ngtcp2 says nothing of such a stream by itself.
  bool unheard_of = false;
  std::optional<uint64_t> reset_code;  // The session gave up sending,
  std::optional<uint64_t> stop_code;   // or receiving.
  bool is_listed = false;              // Kept by StreamBook,
  StreamLane* lane = nullptr;          // as this is.
};

// Requests that have something to send, by urgency and then by whose turn it is.
using StreamLanes = std::map<std::pair<uint32_t, uint64_t>, StreamLane*>;

// The streams of one request that are equally urgent.
struct StreamLane {
  struct Turn {
    QuicStream* stream;
    friend bool operator<(const Turn& a, const Turn& b) {
      const moqt::SendOrder& one = a.stream->order;
      const moqt::SendOrder& two = b.stream->order;
      return std::tie(one.group, one.subgroup, a.stream->id) <
             std::tie(two.group, two.subgroup, b.stream->id);
    }
  };
  std::set<Turn> ready;     // Those that have something to send.
  size_t streams = 0;       // All of them.
  uint64_t turn_bytes = 0;  // Sent since its turn began.
  StreamLanes::iterator place;
  StreamLanes::node_type idle_place;  // While it has nothing to send: to be used again.
};

// All streams of a connection, and which of them is to send next. The most urgent does. Requests
// that are equally urgent take turns, however many streams each has; within one, it goes by group,
// subgroup and age. A stream that goes both ways is a request by itself.
//
// Whatever changes costs the logarithm of what there is, and a packet that is sent only a sum.
class StreamBook {
 public:
  // What a request sends before another that is as urgent has its turn: some packets, so that few
  // of them share one, and so little that nobody waits long.
  static constexpr uint64_t kTurnBytes = 16 * 1024;

  // REQUIRES: there is none of this id.
  QuicStream& Add(moqt::StreamId id, const moqt::SendOrder& order);
  // Null when there is none, or no longer.
  QuicStream* Find(moqt::StreamId id);
  void Remove(moqt::StreamId id);

  void Reorder(QuicStream& stream, const moqt::SendOrder& order);
  // To be called after anything about a stream changes that decides whether it can send.
  void Changed(QuicStream& stream);
  // The stream that sends next; null when none has anything to send, or may not.
  QuicStream* Next() const {
    return waiting_.empty() ? nullptr : waiting_.begin()->second->ready.begin()->stream;
  }
  // So many of its bytes are on their way, and its end with them or not.
  void Sent(QuicStream& stream, uint64_t bytes, bool end);

  // Whether the peer has acknowledged everything that was to be sent, ends of streams included. Of
  // a stream that goes both ways, the end cannot be told from here, and the bytes have to do.
  bool AllDelivered() const;

  using Streams = std::unordered_map<moqt::StreamId, std::unique_ptr<QuicStream>>;
  const Streams& two_way() const { return two_way_; }

 private:
  using LaneName = std::pair<uint32_t, uint64_t>;  // Urgency and request.
  static LaneName NameOf(const QuicStream& stream);
  void Join(QuicStream& stream);
  void Leave(QuicStream& stream);
  void List(QuicStream& stream);
  void Unlist(QuicStream& stream);
  void EndTurn(StreamLane& lane);

  Streams& Shelf(moqt::StreamId id) { return moqt::IsUni(id) ? one_way_ : two_way_; }
  Streams one_way_;
  Streams two_way_;
  std::map<LaneName, StreamLane> lanes_;
  StreamLanes waiting_;
  uint64_t turns_ = 0;
};

}  // namespace kvcast
