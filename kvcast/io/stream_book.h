#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <tuple>
#include <unordered_map>

#include "kvcast/io/send_queue.h"
#include "kvcast/moqt/transport.h"

namespace kvcast {

// One stream of a connection, from when either side opens it until both halves are over.
struct QuicStream {
  moqt::StreamId id = 0;
  moqt::SendOrder order;
  SendQueue queue;

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
  bool is_listed = false;              // Kept by StreamBook.
};

// All streams of a connection, and which of them is to send next: by the session's order, and of
// equals the one that was opened first.
class StreamBook {
 public:
  // REQUIRES: there is none of this id.
  QuicStream& Add(moqt::StreamId id, const moqt::SendOrder& order);
  // Null when there is none, or no longer.
  QuicStream* Find(moqt::StreamId id);
  void Remove(moqt::StreamId id);

  void Reorder(QuicStream& stream, const moqt::SendOrder& order);
  // To be called after anything about a stream changes that decides whether it can send.
  void Changed(QuicStream& stream);
  // The stream that sends next; null when none has anything to send, or may not.
  QuicStream* Next() const { return ready_.empty() ? nullptr : ready_.begin()->stream; }

  // Whether the peer has acknowledged everything that was to be sent, ends of streams included. Of
  // a stream that goes both ways, the end cannot be told from here, and the bytes have to do.
  bool AllDelivered() const;

  size_t size() const { return streams_.size(); }

 private:
  struct Turn {
    QuicStream* stream;
    friend bool operator<(const Turn& a, const Turn& b) {
      return std::tie(a.stream->order, a.stream->id) < std::tie(b.stream->order, b.stream->id);
    }
  };

  std::unordered_map<moqt::StreamId, std::unique_ptr<QuicStream>> streams_;
  std::set<Turn> ready_;
};

}  // namespace kvcast
