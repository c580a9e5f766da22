#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>

#include "kvcast/io/receive_window.h"
#include "kvcast/io/send_queue.h"
#include "kvcast/moqt/transport.h"

namespace kvcast {

class StreamTurns;
struct StreamLane;

// One stream of a connection, from when either side opens it until both halves are over.
struct QuicStream {
  moqt::StreamId id = 0;
  int64_t number = -1;  // As QUIC and the peer know it: other than the id, where the session opens
                        // a one-way stream. Absent until it is open.
  moqt::SendOrder order;
  SendQueue queue;
  std::optional<ReceiveWindow> window;  // Once something of what came was taken.

  bool open = false;          // QUIC has it; before that, bytes may only wait.
  bool starved = false;       // The peer grants no more bytes on it.
  bool send_over = false;     // No more is sent: the end was, or it was given up.
  bool receive_over = false;  // The session knows that no more comes.
  bool stopped = false;       // The peer wants no more of it, and the session does not know.
  // The peer's, of which the session has not heard: nothing came, or it waits, see HandOver().
  bool is_new = false;
  std::string first_bytes;
  // It was given up before anything of it was sent. The peer has to hear of it all the same, or it
  // would count it as open for ever, and ngtcp2 says nothing of such a stream by itself.
  bool unheard_of = false;
  std::optional<uint64_t> reset_code;  // The session gave up sending,
  std::optional<uint64_t> stop_code;   // or receiving.
  bool is_listed = false;              // Kept by StreamTurns,
  StreamLane* lane = nullptr;          // as this is,
  StreamTurns* turns = nullptr;        // and this by StreamBook.
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

// Whose turn it is among streams. The most urgent one's; requests that are equally urgent take
// turns, however many streams each has; within one, it goes by group, subgroup and age. A stream
// that goes both ways is a request by itself.
//
// Whatever changes costs the logarithm of what there is, and bytes that are sent only a sum.
class StreamTurns {
 public:
  void Join(QuicStream& stream);
  void Leave(QuicStream& stream);
  // Whether a stream that has joined has anything to send.
  void SetReady(QuicStream& stream, bool ready);
  // Null when none has.
  QuicStream* Next() const {
    return waiting_.empty() ? nullptr : waiting_.begin()->second->ready.begin()->stream;
  }
  // So many bytes of the stream were sent, and after `turn_bytes` it is the next request's turn.
  void Sent(QuicStream& stream, uint64_t bytes, uint64_t turn_bytes);

 private:
  using LaneName = std::pair<uint32_t, uint64_t>;  // Urgency and request.
  static LaneName NameOf(const QuicStream& stream);
  void List(QuicStream& stream);
  void Unlist(QuicStream& stream);
  void EndTurn(StreamLane& lane);

  std::map<LaneName, StreamLane> lanes_;
  StreamLanes waiting_;
  uint64_t turns_ = 0;
};

}  // namespace kvcast
