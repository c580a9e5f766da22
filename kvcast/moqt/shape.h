#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "kvcast/base/bytes.h"
#include "kvcast/moqt/fault.h"
#include "kvcast/moqt/transport.h"

namespace kvcast::moqt {

// How a draft lays a session's streams out on a connection, where that is not how a session thinks
// of them.
//
// To a session every request has a two-way stream of its own: the first message makes the request,
// answers come on the same stream and in order, and whoever ends, resets or refuses a half of it
// means the request. Control messages stand apart. A draft of which that is true needs no shape. In
// others requests share a stream, name each other by ids and end by messages: a shape gives each of
// them a stream that only it and the session know, and says on the connection what the draft has
// for what happens to it. One-way streams and datagrams pass as they are.
//
// It stands between the two: the connection's calls come here and go on to SessionStreams, whose
// actions are taken here and become the connection's. What it is called with is as TransportUser
// says. A fault closes the session.
class Shape {
 public:
  virtual ~Shape() = default;

  virtual Decoded<void> OnStreamData(StreamId stream, std::span<const std::byte> bytes,
                                     bool fin) = 0;
  virtual Decoded<void> OnStreamReset(StreamId stream, uint64_t code) = 0;
  virtual Decoded<void> OnStopSending(StreamId stream, uint64_t code) = 0;
  virtual void OnBytesSent(StreamId stream, uint64_t bytes) = 0;
  virtual void OnStreamsAllowed(uint64_t bidi_total) = 0;
  virtual std::optional<TransportAction> NextAction() = 0;

  // A control message of ours, SETUP first.
  virtual void SendControl(Bytes message) = 0;
};

}  // namespace kvcast::moqt
