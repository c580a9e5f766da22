#pragma once

#include <gtest/gtest.h>

#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "kvcast/base/random.h"
#include "kvcast/moqt/session.h"

namespace kvcast::moqt {

// Two sessions back to back, on a connection made of memory: streams in order each, but not among
// each other, flow control as QUIC has it, and bytes in any cut.
class SessionPair {
 public:
  struct Options {
    uint64_t seed = 0;
    size_t cut_max = 1 << 20;  // The most bytes handed over at once.
    uint64_t stream_window = 1 << 20;
    uint64_t connection_window = 16 << 20;
    Limits limits;
  };

  explicit SessionPair(const Options& options)
      : options_(options),
        random_(options.seed),
        client_(Role::kClient, ClientSetup(), options.limits, Instant()),
        server_(Role::kServer, {}, options.limits, Instant()),
        to_server_{&client_, &server_, options.connection_window, {}},
        to_client_{&server_, &client_, options.connection_window, {}} {}
  SessionPair() : SessionPair(Options()) {}

  Session& client() { return client_; }
  Session& server() { return server_; }

  // Until nothing moves any more.
  void Run() {
    while (Step()) {
    }
  }
  // Hands over one piece of something; false if there is nothing to hand over.
  bool Step() {
    TakeActions(to_server_, to_client_);
    TakeActions(to_client_, to_server_);
    std::vector<std::pair<Way*, StreamId>> ready;
    for (Way* way : {&to_server_, &to_client_}) {
      for (auto& [id, stream] : way->streams) {
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
    Deliver(*way, id);
    return true;
  }

  // The events of a kind that a side has told so far, and not given out before.
  template <typename T>
  std::vector<T> Take(Session& session) {
    std::vector<Event>& events = session_events(session);
    std::vector<T> taken;
    std::vector<Event> rest;
    for (Event& event : events) {
      if (T* found = std::get_if<T>(&event)) {
        taken.push_back(std::move(*found));
      } else {
        rest.push_back(std::move(event));
      }
    }
    events = std::move(rest);
    return taken;
  }
  // The only one of its kind.
  template <typename T>
  T One(Session& session) {
    std::vector<T> taken = Take<T>(session);
    if (taken.size() != 1) {
      ADD_FAILURE() << taken.size() << " events instead of one";
      std::abort();
    }
    return std::move(taken[0]);
  }

  // Bytes that wait on one way, on all streams or one.
  size_t Waiting(const Session& from) const {
    const Way& way = &from == &client_ ? to_server_ : to_client_;
    size_t bytes = 0;
    for (const auto& [id, stream] : way.streams) {
      bytes += stream.queue.size();
    }
    return bytes;
  }
  bool connection_closed() const { return closed_; }

  static Setup ClientSetup() {
    Setup setup;
    setup.path = "/";
    setup.authority = "node.example";
    return setup;
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
    Session* from;
    Session* to;
    uint64_t credit;
    std::map<StreamId, Stream> streams;
  };

  std::vector<Event>& session_events(Session& session) {
    std::vector<Event>& events = &session == &client_ ? client_events_ : server_events_;
    while (std::optional<Event> event = session.NextEvent()) {
      events.push_back(*std::move(event));
    }
    return events;
  }

  Stream& At(Way& way, StreamId id) {
    const auto [found, is_new] = way.streams.try_emplace(id);
    if (is_new) {
      found->second.credit = options_.stream_window;
    }
    return found->second;
  }

  void TakeActions(Way& out, Way& back) {
    while (std::optional<TransportAction> action = out.from->NextAction()) {
      if (closed_) {
        continue;
      }
      if (auto* send = std::get_if<SendBytes>(&*action)) {
        Stream& stream = At(out, send->stream);
        EXPECT_FALSE(stream.fin || stream.reset) << "bytes after the end of a stream";
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
      } else if (auto* close = std::get_if<CloseConnection>(&*action)) {
        closed_ = true;
        out.to->OnConnectionClosed(close->code, close->reason);
        to_server_.streams.clear();
        to_client_.streams.clear();
      }
    }
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
  }

  Options options_;
  Random random_;
  Session client_;
  Session server_;
  Way to_server_;
  Way to_client_;
  std::vector<Event> client_events_;
  std::vector<Event> server_events_;
  bool closed_ = false;
};

}  // namespace kvcast::moqt
