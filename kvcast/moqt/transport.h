#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>

#include "kvcast/base/bytes.h"
#include "kvcast/base/time.h"
#include "kvcast/moqt/setup.h"

// The port between a session and the connection that carries it: QUIC in `io`, faults in `sim`.
//
// The connection tells the session what happened, by the functions of TransportUser, and after each
// takes actions out of it until there are none; of what was sent at once it may tell all before. It
// never calls from within an action.
//
// Flow control is real on both ways. Receiving: bytes handed over are the session's; the peer may
// send more only as far as the session gives credit, so a stream whose objects nobody takes stops
// by itself. Sending: the connection keeps what it is given, by reference, until it could be sent,
// and says when it was; the session counts what waits.
namespace kvcast::moqt {

// As QUIC numbers streams: bit 0 says that the server opened it, bit 1 that it goes one way. The
// session numbers the streams it opens itself, in the order it opens them, and may write to them at
// once. The connection opens two-way streams as soon as the peer allows, in that order, and one-way
// streams when they have their turn to send: the peer may know those by other numbers.
using StreamId = uint64_t;

constexpr bool IsUni(StreamId id) { return (id & 2) != 0; }
constexpr Role OpenerOf(StreamId id) { return (id & 1) != 0 ? Role::kServer : Role::kClient; }

// What is to be sent first when not all can be. Of equally urgent requests each gets its share, and
// what belongs to one goes by group and subgroup, the smaller ones first.
struct SendOrder {
  enum class Tier : uint8_t { kControl, kRequest, kData };

  Tier tier = Tier::kControl;
  uint8_t subscriber_priority = 0;
  uint8_t publisher_priority = 0;
  uint64_t request = 0;  // Of a stream that goes both ways, it says nothing: that is one by itself.
  uint64_t group = 0;    // Counted down from 2^64 - 1 where groups are wanted in falling order.
  uint64_t subgroup = 0;

  // The smaller one is sent first. There is no order of more than this: groups of different
  // requests do not compare.
  uint32_t urgency() const {
    return static_cast<uint32_t>(tier) << 16 | uint32_t{subscriber_priority} << 8 |
           publisher_priority;
  }
};

struct OpenStream {
  StreamId stream;
  SendOrder order;
};
struct SendBytes {
  StreamId stream;
  Bytes bytes;  // May be empty where `fin` is set.
  bool fin;
};
// Give up the sending half: what is not sent yet is not sent any more. If that is all of a one-way
// stream, the peer need not hear of it.
struct ResetStream {
  StreamId stream;
  uint64_t code;
};
// Ask the peer to give up its half. Bytes may go on arriving for a while.
struct StopSending {
  StreamId stream;
  uint64_t code;
};
// The peer may send this many more bytes on the stream.
struct StreamCredit {
  StreamId stream;
  uint64_t bytes;
};
// The same for all streams together.
struct ConnectionCredit {
  uint64_t bytes;
};
// One DATAGRAM frame, which may be lost: the connection drops it where it does not fit the path,
// too many wait, or it is later than this. Either way it says so once the frame waits no longer.
struct SendDatagram {
  Bytes bytes;
  SendOrder order;
  Instant until = Instant::max();
};
// What waits on the stream, and what comes later, is as urgent as this from now on.
struct ReorderStream {
  StreamId stream;
  SendOrder order;
};
// The last action there is.
struct CloseConnection {
  uint64_t code;
  std::string reason;
};

using TransportAction =
    std::variant<OpenStream, SendBytes, ResetStream, StopSending, StreamCredit, ConnectionCredit,
                 SendDatagram, ReorderStream, CloseConnection>;

class TransportUser {
 public:
  virtual ~TransportUser() = default;

  // It is so late by now: told before what a packet brings, or a timer.
  virtual void OnTime(Instant now) { (void)now; }
  // Whether the peer may open one-way streams in place of those that are over. Asked after every
  // input, and whenever somebody has poked the connection.
  virtual bool MayOpenMore() const { return true; }
  // The peer can begin no one-way stream: all that it may have are open, or over and not replaced,
  // because of MayOpenMore(). Told after every input while that is so.
  virtual void OnStreamsUsedUp() {}

  // In order per stream; the first for an id of the peer's is how a stream opens. `bytes` is only
  // lent. Nothing comes after `fin`, and nothing but OnStopSending after a reset.
  virtual void OnStreamData(StreamId stream, std::span<const std::byte> bytes, bool fin) = 0;
  virtual void OnStreamReset(StreamId stream, uint64_t code) = 0;
  // The peer wants no more of what we send on the stream.
  virtual void OnStopSending(StreamId stream, uint64_t code) = 0;
  // So many bytes of the stream wait no longer: they were sent for the first time.
  virtual void OnBytesSent(StreamId stream, uint64_t bytes) = 0;
  // Nothing of a one-way stream that we ended is under way any more: the peer has acknowledged all
  // of it, its end included, or wants no more of it. At most once, and never after a reset of ours.
  virtual void OnDelivered(StreamId stream) = 0;
  // So many datagrams of a request, as their order names it, wait no longer: they were sent, or
  // dropped.
  virtual void OnDatagramsGone(uint64_t request, uint64_t count) = 0;
  // One DATAGRAM frame. `bytes` is only lent.
  virtual void OnDatagram(std::span<const std::byte> bytes) { (void)bytes; }
  // How many two-way streams, in all, the peer lets us open from the connection's beginning on. One
  // that is not told of a limit has none.
  virtual void OnStreamsAllowed(uint64_t bidi_total) { (void)bidi_total; }
  // The connection is gone, however that came about.
  virtual void OnConnectionClosed(uint64_t code, std::string_view reason) = 0;

  virtual std::optional<TransportAction> NextAction() = 0;
};

}  // namespace kvcast::moqt
