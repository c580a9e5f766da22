#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kvcast/base/bytes.h"
#include "kvcast/moqt/draft_grammar_test.h"
#include "kvcast/moqt/draft_wire_test.h"
#include "kvcast/moqt/session.h"

namespace kvcast::moqt {

// A session, and a peer made of bytes.
class BytePeer {
 public:
  explicit BytePeer(bool at_server, const Limits& limits = {})
      : server_(at_server),
        session_(at_server ? Role::kServer : Role::kClient, {}, limits, Instant()) {}

  Session& session() { return session_; }

  // Streams by who opened them, from 0 on; the peer's first one-way stream is its control stream.
  StreamId PeersRequest(uint64_t n) const { return 4 * n + (server_ ? 0 : 1); }
  StreamId PeersData(uint64_t n) const { return 4 * n + 4 + PeersControl(); }
  StreamId PeersControl() const { return server_ ? 2 : 3; }
  StreamId OurRequest(uint64_t n) const { return 4 * n + (server_ ? 1 : 0); }
  // Requests likewise.
  uint64_t PeersId(uint64_t n) const { return 2 * n + (server_ ? 0 : 1); }
  uint64_t OurId(uint64_t n) const { return 2 * n + (server_ ? 1 : 0); }

  BytePeer& SetUp() { return Send(PeersControl(), draft::Framed(0x2f00, "")); }
  BytePeer& Send(StreamId stream, std::string_view bytes, bool fin = false) {
    session_.OnStreamData(stream, AsBytes(bytes), fin);
    return *this;
  }
  // One byte at a time.
  void Trickle(StreamId stream, std::string_view bytes, bool fin) {
    for (size_t i = 0; i < bytes.size(); ++i) {
      Send(stream, bytes.substr(i, 1), fin && i + 1 == bytes.size());
    }
    if (bytes.empty() && fin) {
      Send(stream, bytes, fin);
    }
  }

  // Forgets what the session has done so far.
  void Drain() {
    while (session_.NextAction()) {
    }
    while (session_.NextEvent()) {
    }
  }
  // What the session has done since, to the connection or to the request of the stream.
  draft::Verdict Outcome(StreamId stream) {
    using draft::Verdict;
    Verdict verdict;
    std::string answer;
    const auto note = [&](Verdict::Kind kind, uint64_t code) {
      if (verdict.kind == Verdict::Kind::kFine) {
        verdict = {kind, code};
      }
    };
    while (const std::optional<TransportAction> action = session_.NextAction()) {
      if (const auto* close = std::get_if<CloseConnection>(&*action)) {
        verdict = {Verdict::Kind::kCloses, close->code};
      } else if (const auto* reset = std::get_if<ResetStream>(&*action)) {
        note(Verdict::Kind::kCancelled, reset->code);
      } else if (const auto* stop = std::get_if<StopSending>(&*action)) {
        note(Verdict::Kind::kCancelled, stop->code);
      } else if (const auto* send = std::get_if<SendBytes>(&*action);
                 send != nullptr && send->stream == stream) {
        answer += send->bytes.ToString();
      }
    }
    draft::Reader in(answer);
    if (verdict.kind != Verdict::Kind::kCloses && in.TakeNum() == 0x5) {
      (void)in.Take(2);
      verdict = {Verdict::Kind::kRefused, in.TakeNum()};
    }
    return verdict;
  }

 private:
  bool server_;
  Session session_;
};

}  // namespace kvcast::moqt
