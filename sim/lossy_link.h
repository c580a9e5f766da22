#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "kvcast/base/random.h"
#include "kvcast/moqt/transport.h"

namespace kvcast::sim {

// What happens to packets, each with its own chance, and how much may be under way.
struct LinkFaults {
  double lose = 0;    // Sent again, unless it was a datagram.
  double repeat = 0;  // Arrives twice.
  size_t packet_bytes_max = 1200;
  size_t packets_max = 32;  // Under way at a time, on one way.
  uint64_t stream_window = 1 << 16;
  uint64_t connection_window = 1 << 20;
  uint64_t requests_window = 1000;  // Two-way streams that a side may have open at a time,
  uint64_t streams_window = 1000;   // and one-way streams, the control stream among them.
  bool in_order = false;            // Nothing overtakes anything on its way.

  static LinkFaults Draw(Random& random);
};

struct LinkCounts {
  uint64_t delivered = 0;
  uint64_t lost = 0;
  uint64_t repeated = 0;
  uint64_t overtaken = 0;  // Packets that came before one that was sent earlier.
  uint64_t used_up = 0;    // Times that a side could begin no stream, as the other took nothing.
};

// A QUIC connection as far as a session can tell: what is sent is cut into packets, which are lost,
// sent again, repeated and overtaken. Streams come out in order each; credit, resets and the wish
// to stop travel in packets like everything else, so each side knows only what has reached it.
// Streams are opened in any order, by what is sent on them first; one-way streams in place of those
// that are over only while their receiver has room. Where there is none and all are used up, it is
// told so.
class LossyLink {
 public:
  LossyLink(uint64_t seed, const LinkFaults& faults, moqt::TransportUser& client,
            moqt::TransportUser& server);

  // One packet is made or arrives; false if there is none to make and none under way.
  bool Step();
  // All that is under way arrives, however often it has to be sent again; nothing else is sent.
  void Calm();
  // From now on packets arrive, in whatever order.
  void StopFaults();
  // From now on nothing arrives that is for the server, or for the client; or everything again.
  void Block(moqt::Role to, bool blocked);
  // The network is gone, and both sides are told.
  void Break();
  bool closed() const { return closed_; }
  const LinkCounts& counts() const { return counts_; }

 private:
  using StreamId = moqt::StreamId;

  struct Data {
    StreamId stream;
    uint64_t offset;
    std::string bytes;
    bool fin;
  };
  struct Reset {
    StreamId stream;
    uint64_t code;
    uint64_t size;  // How much of the stream was sent.
  };
  struct Stop {
    StreamId stream;
    uint64_t code;
  };
  struct StreamMax {
    StreamId stream;
    uint64_t limit;
  };
  struct ConnectionMax {
    uint64_t limit;
  };
  struct RequestsMax {
    uint64_t total;
  };
  struct StreamsMax {
    uint64_t total;
  };
  struct Datagram {
    std::string bytes;
  };
  struct Arrived {  // All of a one-way stream, its end included.
    StreamId stream;
  };
  using Packet = std::variant<Data, Reset, Stop, StreamMax, ConnectionMax, RequestsMax, StreamsMax,
                              Datagram, Arrived>;

  // The sending half of a stream.
  struct Out {
    std::string queue;
    uint64_t sent = 0;
    uint64_t limit = 0;
    bool fin = false;
    bool fin_sent = false;
    bool reset = false;
    bool delivered = false;
    bool opened = false;  // Something of it was sent.
  };
  // The receiving half.
  struct In {
    std::map<uint64_t, std::string> pieces;
    uint64_t next = 0;
    std::optional<uint64_t> size;
    uint64_t limit = 0;  // Granted by the receiver.
    bool over = false;
  };
  // One direction.
  struct Way {
    moqt::TransportUser* from;
    moqt::TransportUser* to;
    std::map<StreamId, Out> out;
    std::map<StreamId, In> in;
    std::vector<std::pair<uint64_t, Packet>> under_way;  // By when they were sent.
    uint64_t sent = 0;
    uint64_t limit = 0;     // What the sender knows it may send, over all streams.
    uint64_t granted = 0;   // What the receiver has granted.
    uint64_t requests = 0;  // How many two-way streams the sender may have opened.
    uint64_t requests_granted = 0;
    std::map<StreamId, int> halves_over;  // Of its two-way streams.
    uint64_t streams = 0;                 // How many one-way streams the sender may have opened,
    uint64_t streams_opened = 0;          // and has.
    uint64_t streams_granted = 0;
    uint64_t streams_there = 0;  // That have come to their receiver and are not over,
    uint64_t streams_over = 0;   // and that are, in place of which none were granted.
    bool used_up = false;        // Its sender can begin none, for want of room.
    bool blocked = false;        // Nothing arrives.
  };

  Way& Back(const Way& way) { return &way == &ways_[0] ? ways_[1] : ways_[0]; }
  Out& OutOf(Way& way, StreamId stream);
  In& InOf(Way& way, StreamId stream);
  bool Owns(const Way& way, StreamId stream) const;
  bool MaySend(const Way& way, StreamId stream, const Out& out) const;

  void TakeActions(Way& way);
  void Take(Way& way, const moqt::TransportAction& action);
  void Put(Way& way, Packet packet) { way.under_way.emplace_back(packets_++, std::move(packet)); }
  void MakePacket(Way& way, StreamId stream);
  void Arrive(Way& way, size_t which);
  void On(Way& way, const Data& data);
  void On(Way& way, const Reset& reset);
  void On(Way& way, const Stop& stop);
  void On(Way& way, const StreamMax& max);
  void On(Way& way, const ConnectionMax& max);
  void On(Way& way, const RequestsMax& max);
  void On(Way& way, const StreamsMax& max);
  void On(Way& way, const Datagram& datagram);
  void On(Way& way, const Arrived& arrived);
  void HandOver(Way& way, StreamId stream, In& in);
  // One half of a two-way stream has ended at its receiver; when both have, another may be opened.
  void OnHalfOver(StreamId stream);
  void OnUniOver(Way& way);
  void GrantStreams(Way& way);

  LinkFaults faults_;
  Random random_;
  Way ways_[2];  // From the client, from the server.
  uint64_t packets_ = 0;
  LinkCounts counts_;
  bool closed_ = false;
};

}  // namespace kvcast::sim
