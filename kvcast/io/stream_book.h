#pragma once

#include <cstdint>
#include <memory>
#include <unordered_map>

#include "kvcast/io/stream_turns.h"
#include "kvcast/moqt/transport.h"

namespace kvcast {

// All streams of a connection: which of them is to send next, and which of our one-way streams is
// to be opened next, by the same order (StreamTurns).
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

  // QUIC has opened the stream, under this number. Requests that are equally urgent take turns at
  // this, too.
  void Open(QuicStream& stream, int64_t number);
  // As Find(), by the number that QUIC has for it.
  QuicStream* FindNumber(int64_t number);

  void Reorder(QuicStream& stream, const moqt::SendOrder& order);
  // To be called after anything about a stream changes that decides whether it can send.
  void Changed(QuicStream& stream);
  // The stream that sends next; null when none that is open has anything to send, or may not.
  QuicStream* Next() const { return sending_.Next(); }
  // The one-way stream that opens next; null when none has anything to send.
  QuicStream* NextToOpen() const { return opening_.Next(); }
  // So many of its bytes are on their way, and its end with them or not.
  void Sent(QuicStream& stream, uint64_t bytes, bool end);

  // Whether the peer has acknowledged everything that was to be sent, ends of streams included. Of
  // a stream that goes both ways, the end cannot be told from here, and the bytes have to do.
  bool AllDelivered() const;

  using Streams = std::unordered_map<moqt::StreamId, std::unique_ptr<QuicStream>>;
  const Streams& two_way() const { return two_way_; }

 private:
  // Where it waits for its turn.
  StreamTurns& TurnsOf(const QuicStream& stream) { return stream.open ? sending_ : opening_; }

  Streams& Shelf(moqt::StreamId id) { return moqt::IsUni(id) ? one_way_ : two_way_; }
  Streams one_way_;
  Streams two_way_;
  std::unordered_map<int64_t, moqt::StreamId> renumbered_;  // Where number and id differ.
  StreamTurns sending_;
  StreamTurns opening_;
};

}  // namespace kvcast
