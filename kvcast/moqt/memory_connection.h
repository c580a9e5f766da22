#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "kvcast/base/check.h"
#include "kvcast/base/random.h"
#include "kvcast/moqt/transport.h"

namespace kvcast::moqt {

// A connection made of memory, for tests and the simulator: streams in order each, but not among
// each other, flow control as QUIC has it, and bytes in any cut. Datagrams come in any order, and
// are dropped where too many wait or they are too long.
class MemoryConnection {
 public:
  struct Options {
    uint64_t seed = 0;
    size_t cut_max = 1 << 20;  // The most bytes handed over at once.
    uint64_t stream_window = 1 << 20;
    uint64_t connection_window = 16 << 20;
    uint64_t bidi_streams = kUnlimited;  // How many each side may open at first.
    size_t datagram_bytes_max = 1200;
    size_t datagrams_max = 64;
  };
  static constexpr uint64_t kUnlimited = uint64_t{1} << 60;  // As QUIC has it.

  MemoryConnection(const Options& options, TransportUser& client, TransportUser& server)
      : options_(options),
        random_(options.seed),
        client_(&client),
        to_server_{&client, &server, options.connection_window, options.bidi_streams, {}, {}},
        to_client_{&server, &client, options.connection_window, options.bidi_streams, {}, {}} {
    for (Way* way : {&to_server_, &to_client_}) {
      if (way->bidi_streams != kUnlimited) {
        way->from->OnStreamsAllowed(way->bidi_streams);
      }
    }
  }

  // `user` may open so many two-way streams in all.
  void AllowStreams(TransportUser& user, uint64_t bidi_total) {
    Way& way = &user == client_ ? to_server_ : to_client_;
    way.bidi_streams = bidi_total;
    user.OnStreamsAllowed(bidi_total);
  }

  // Hands over one piece of something; false if there is nothing to hand over.
  bool Step() {
    TakeActions(to_server_, to_client_);
    TakeActions(to_client_, to_server_);
    std::vector<std::pair<Way*, StreamId>> ready;
    for (Way* way : {&to_server_, &to_client_}) {
      for (size_t i = 0; i < way->datagrams.size(); ++i) {
        ready.emplace_back(way, kDatagram);
      }
      for (auto& [id, stream] : way->streams) {
        if (!IsUni(id) && id / 4 >= OpenedBy(id).bidi_streams) {
          continue;  // It is not open yet.
        }
        const bool bytes = !stream.queue.empty() && stream.credit > 0 && way->credit > 0;
        if (bytes || stream.reset || (stream.fin && stream.queue.empty())) {
          ready.emplace_back(way, id);
        }
      }
    }
    if (ready.empty()) {
      return false;
    }
    const auto [way, id] = ready[random_.Below(ready.size())];
    if (id == kDatagram) {
      DeliverDatagram(*way);
    } else {
      Deliver(*way, id);
    }
    return true;
  }

  // The network is gone: both ends are told, and nothing is handed over any more.
  void Break() {
    if (!std::exchange(closed_, true)) {
      Clear();
      to_server_.from->OnConnectionClosed(0, "broken");
      to_client_.from->OnConnectionClosed(0, "broken");
    }
  }
  bool closed() const { return closed_; }

  // Bytes that wait on one way, on all streams.
  size_t Waiting(const TransportUser& from) const {
    size_t bytes = 0;
    for (const auto& [id, stream] : (&from == client_ ? to_server_ : to_client_).streams) {
      bytes += stream.queue.size();
    }
    return bytes;
  }

 private:
  struct Stream {
    std::string queue;
    uint64_t credit = 0;
    bool fin = false;
    std::optional<uint64_t> reset;
    bool over = false;
  };
  struct Way {
    TransportUser* from;
    TransportUser* to;
    uint64_t credit;
    uint64_t bidi_streams;  // That `from` may open.
    std::map<StreamId, Stream> streams;
    std::deque<std::pair<uint64_t, std::string>> datagrams;  // And whose they are.
  };
  static constexpr StreamId kDatagram = ~StreamId{0};

  const Way& OpenedBy(StreamId id) const {
    return OpenerOf(id) == Role::kClient ? to_server_ : to_client_;
  }

  Stream& At(Way& way, StreamId id) {
    const auto [found, is_new] = way.streams.try_emplace(id);
    if (is_new) {
      found->second.credit = options_.stream_window;
    }
    return found->second;
  }
  void Clear() {
    for (Way* way : {&to_server_, &to_client_}) {
      way->streams.clear();
      way->datagrams.clear();
    }
  }

  void TakeActions(Way& out, Way& back) {
    while (std::optional<TransportAction> action = out.from->NextAction()) {
      if (closed_) {
        continue;
      }
      if (auto* send = std::get_if<SendBytes>(&*action)) {
        Stream& stream = At(out, send->stream);
        KVCAST_CHECK(!stream.fin && !stream.reset);  // No bytes after the end of a stream.
        stream.queue += send->bytes.ToString();
        stream.fin = send->fin;
      } else if (auto* reset = std::get_if<ResetStream>(&*action)) {
        Stream& stream = At(out, reset->stream);
        stream.queue.clear();
        stream.fin = false;
        stream.reset = stream.over ? std::nullopt : std::optional(reset->code);
      } else if (auto* stop = std::get_if<StopSending>(&*action)) {
        out.to->OnStopSending(stop->stream, stop->code);
      } else if (auto* credit = std::get_if<StreamCredit>(&*action)) {
        At(back, credit->stream).credit += credit->bytes;
      } else if (auto* all = std::get_if<ConnectionCredit>(&*action)) {
        back.credit += all->bytes;
      } else if (auto* datagram = std::get_if<SendDatagram>(&*action)) {
        if (datagram->bytes.size() <= options_.datagram_bytes_max &&
            out.datagrams.size() < options_.datagrams_max) {
          out.datagrams.emplace_back(datagram->order.request, datagram->bytes.ToString());
        } else {
          out.from->OnDatagramsGone(datagram->order.request, 1);
        }
      } else if (auto* close = std::get_if<CloseConnection>(&*action)) {
        closed_ = true;
        out.to->OnConnectionClosed(close->code, close->reason);
        Clear();
      }
    }
  }

  void DeliverDatagram(Way& way) {
    const auto chosen =
        way.datagrams.begin() + static_cast<ptrdiff_t>(random_.Below(way.datagrams.size()));
    const auto [request, bytes] = std::move(*chosen);
    way.datagrams.erase(chosen);
    way.from->OnDatagramsGone(request, 1);
    way.to->OnDatagram(AsBytes(bytes));
  }

  void Deliver(Way& way, StreamId id) {
    Stream& stream = way.streams[id];
    if (stream.reset) {
      const uint64_t code = *std::exchange(stream.reset, std::nullopt);
      stream.over = true;
      way.to->OnStreamReset(id, code);
      return;
    }
    const size_t length = static_cast<size_t>(std::min<uint64_t>(
        {stream.queue.size(), 1 + random_.Below(options_.cut_max), stream.credit, way.credit}));
    const std::string piece = stream.queue.substr(0, length);
    stream.queue.erase(0, length);
    stream.credit -= length;
    way.credit -= length;
    const bool fin = stream.fin && stream.queue.empty();
    stream.fin = stream.fin && !fin;
    stream.over = fin;
    way.from->OnBytesSent(id, length);
    way.to->OnStreamData(id, AsBytes(piece), fin);
    if (fin && IsUni(id) && !closed_) {
      way.from->OnDelivered(id);
    }
  }

  Options options_;
  Random random_;
  const TransportUser* client_;
  Way to_server_;
  Way to_client_;
  bool closed_ = false;
};

}  // namespace kvcast::moqt
