#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "kvcast/base/bytes.h"
#include "kvcast/io/loop_bridge.h"
#include "kvcast/io/udp_socket.h"
#include "kvcast/moqt/codec.h"
#include "kvcast/moqt/transport.h"

namespace kvcast {

// What one shard of a node has to tell another. Most of it is about a connection, which its home
// has, and for which the other has a session, a guest: what happens to the connection goes out, and
// what the session wants done comes back, both as TransportUser says.
struct ShardParcel {
  // To the guest's shard.
  struct Came {
    const moqt::Codec* codec;
    std::string from;
    std::optional<std::string> certificate;
  };
  struct Gone {};
  struct Data {
    moqt::StreamId stream;
    Bytes bytes;
    bool fin;
  };
  struct Reset {
    moqt::StreamId stream;
    uint64_t code;
  };
  struct Stopped {
    moqt::StreamId stream;
    uint64_t code;
  };
  struct Sent {
    moqt::StreamId stream;
    uint64_t bytes;
  };
  struct Delivered {
    moqt::StreamId stream;
  };
  struct DatagramsGone {
    uint64_t request;
    uint64_t count;
  };
  struct Datagram {
    Bytes bytes;
  };
  struct Allowed {
    uint64_t bidi_total;
  };
  struct UsedUp {};
  struct Closed {
    uint64_t code;
    std::string reason;
  };
  // To the home.
  struct MayOpenMore {
    bool may;
  };
  // Of no guest: this upstream leads back to the node.
  struct Ring {
    size_t upstream;
  };

  // A packet of a connection whose home is the other.
  struct Packet {
    UdpPath path;
    Bytes bytes;
  };

  uint64_t guest = 0;  // As its home counts them.
  std::variant<Came, Gone, Data, Reset, Stopped, Sent, Delivered, DatagramsGone, Datagram, Allowed,
               UsedUp, Closed, moqt::TransportAction, MayOpenMore, Ring, Packet>
      what;
};

// How a shard reaches the others: which it is, and a bridge to each but itself.
struct ShardLines {
  size_t index = 0;
  size_t count = 1;
  std::vector<LoopBridge<ShardParcel>*> bridges{};

  bool alone() const { return count == 1; }
};

}  // namespace kvcast
