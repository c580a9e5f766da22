#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <string>

#include "kvcast/moqt/draft_wire_test.h"
#include "kvcast/moqt/frame.h"
#include "kvcast/moqt/session_state.h"
#include "kvcast/moqt/session_streams.h"
#include "kvcast/moqt/shape.h"

// A shape unlike draft-18's, for tests: the one that drafts up to 16 have.
//
// The client opens one two-way stream, on which both sides say everything, SETUP first. Answers
// begin with the id of what they answer, an update with its own and that of the request it changes.
// Requests end by messages: UNSUBSCRIBE, FETCH_CANCEL, PUBLISH_DONE, PUBLISH_NAMESPACE_DONE and
// PUBLISH_NAMESPACE_CANCEL, each with the request's id. How many ids the peer may use it hears by
// MAX_REQUEST_ID. Only requests for all that is below a prefix have a stream of their own.
namespace kvcast::moqt::one_stream {

inline constexpr StreamId kControlStream = 0;

// Types of messages: draft-18's, and those that it has no more.
enum Type : uint64_t {
  kSetup = 0x2f00,
  kGoAway = 0x10,
  kRequestOk = 0x07,
  kRequestError = 0x05,
  kSubscribe = 0x03,
  kSubscribeOk = 0x04,
  kUnsubscribe = 0x0a,
  kPublish = 0x1d,
  kPublishDone = 0x0b,
  kRequestUpdate = 0x02,
  kFetch = 0x16,
  kFetchOk = 0x18,
  kFetchCancel = 0x17,
  kTrackStatus = 0x0d,
  kPublishNamespace = 0x06,
  kPublishNamespaceDone = 0x09,
  kPublishNamespaceCancel = 0x0c,
  kSubscribeNamespace = 0x50,
  kSubscribeTracks = 0x51,
  kNamespace = 0x08,
  kNamespaceDone = 0x0e,
  kPublishBlocked = 0x0f,
  kMaxRequestId = 0x15,
  kRequestsBlocked = 0x1a,
};

inline constexpr auto kTooManyRequests = static_cast<SessionCode>(0x7);

// How many more requests the peer may make at a time; few, so that tests run into it.
inline constexpr uint64_t kRequestsAhead = 4;

inline bool HasOwnStream(uint64_t type) {
  return type == kSubscribeNamespace || type == kSubscribeTracks;
}
// The id at the front of a body, which is taken off it.
inline RequestId TakeId(std::string& body) {
  draft::Reader reader(body);
  const RequestId id = reader.TakeNum();
  body.erase(0, body.size() - reader.remaining());
  return id;
}
// The rest of a REQUEST_ERROR: an internal one, not to be tried again, and no reason.
inline std::string SomeError() { return draft::Num(0) + draft::Num(0) + draft::Num(0); }

class OneStreamShape final : public Shape {
 public:
  OneStreamShape(SessionState& state, SessionStreams& streams);

  Decoded<void> OnStreamData(StreamId stream, std::span<const std::byte> bytes, bool fin) override;
  Decoded<void> OnStreamReset(StreamId stream, uint64_t code) override;
  Decoded<void> OnStopSending(StreamId stream, uint64_t code) override;
  void OnBytesSent(StreamId stream, uint64_t bytes) override;
  // What counts here is ids.
  void OnStreamsAllowed(uint64_t bidi_total) override { (void)bidi_total; }
  std::optional<TransportAction> NextAction() override;
  void SendControl(Bytes message) override;

 private:
  // A request. The session thinks that it has a stream.
  struct Line {
    RequestId id = 0;
    uint64_t asked = 0;  // The type of its first message.
    bool ours = false;
    std::optional<StreamId> own{};  // On the connection, where it has one.
    bool answered = false;          // By whoever has to.
    bool refused = false;           // By us.
    bool we_ended = false;
    bool they_ended = false;
    size_t held = 0;                      // Of what we say of it.
    std::deque<RequestId> our_updates{};  // That were not answered.
    std::deque<RequestId> their_updates{};
    std::map<RequestId, std::string> early_answers{};  // To updates after one that still waits.
  };
  using Lines = std::map<StreamId, Line>;  // By the session's stream.

  struct Frame {
    uint64_t type;
    std::string body;
  };
  // Something to do on the connection, and what the session counts it as.
  struct Piece {
    StreamId line;
    TransportAction action;
    size_t session_bytes = 0;
    std::optional<RequestId> new_id{};  // That it uses.
  };
  struct Sent {
    StreamId line;
    size_t session_bytes;
    size_t left;
  };
  static constexpr StreamId kNobody = std::numeric_limits<StreamId>::max();

  static Frame Split(std::string_view whole);

  // What the connection brings.
  Decoded<void> ReadFrames(StreamId stream, std::span<const std::byte> bytes);
  Decoded<void> OnControl(const std::string& whole);
  Decoded<void> OnOwn(StreamId stream, const std::string& whole);
  Decoded<void> OnOwnFin(StreamId stream);
  Decoded<void> OpenTheirs(const std::string& whole, std::optional<StreamId> own);
  Decoded<void> OnAnswer(const Frame& frame);
  void OnUpdateAnswer(Lines::iterator line, RequestId update, std::string answer);
  Decoded<void> OnUpdate(const Frame& frame);
  Decoded<void> OnPublishDone(const Frame& frame);
  Decoded<void> OnEnd(const Frame& frame);
  Decoded<void> OnMaxRequestId(const Frame& frame);
  Decoded<void> NotePeerId(RequestId id);
  // Ignored if the id was ever used: the two sides may have ended a request at once.
  Decoded<void> Absent(RequestId id) const;
  void Hand(StreamId line, const std::string& frame, bool fin);

  // What the session wants done.
  void Pump();
  void Translate(TransportAction action);
  void OnSessionMessage(StreamId stream, const std::string& whole);
  void OpenOurs(StreamId stream, const std::string& whole);
  void Answer(StreamId stream, Line& line, const Frame& frame, size_t session_bytes);
  void OnSessionFin(StreamId stream);
  void OnSessionReset(StreamId stream, uint64_t code);
  // `code` is why, if it did not end well.
  void EndOurs(StreamId stream, std::optional<uint64_t> code);
  void SayEnd(StreamId stream, const Line& line, uint64_t code);
  void ForgetIfOver(StreamId stream);

  void Say(StreamId line, uint64_t type, const std::string& body, size_t session_bytes = 0,
           std::optional<RequestId> new_id = std::nullopt);
  void Post(Piece piece);
  void Emit(Piece piece);
  void OpenControl();
  void Grant();
  void TellSessionItsAllowance();

  Lines::iterator FindById(RequestId id);
  Lines::iterator FindOwn(StreamId stream);
  bool WasUsed(RequestId id) const;

  SessionState* state_;
  SessionStreams* streams_;
  Lines lines_;
  std::map<StreamId, FrameReader> readers_;
  std::deque<TransportAction> out_;
  std::deque<TransportAction> early_;  // Of a server, before the control stream is there.
  std::deque<Piece> held_;             // Until the peer grants ids.
  std::map<StreamId, std::deque<Sent>> sent_;
  bool control_open_ = false;
  bool said_setup_ = false;
  bool heard_setup_ = false;
  int64_t uncredited_ = 0;  // Bytes that the connection gave and the session never saw.

  uint64_t opened_ = 0;       // Streams that the session opened.
  uint64_t next_own_ = 0;     // Of ours on the connection, beside the control stream.
  uint64_t next_theirs_ = 0;  // Of theirs, as the session sees them.
  RequestId next_our_id_;     // All below were used.
  RequestId next_their_id_ = 0;
  RequestId peer_max_ = 0;  // We may use ids below it,
  RequestId granted_ = 0;   // and the peer below this.
  RequestId told_blocked_ = 0;
};

}  // namespace kvcast::moqt::one_stream
