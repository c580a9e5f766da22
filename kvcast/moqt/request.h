#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "kvcast/moqt/event.h"
#include "kvcast/moqt/fault.h"
#include "kvcast/moqt/receive_queue.h"
#include "kvcast/moqt/session_state.h"
#include "kvcast/moqt/track_receiver.h"
#include "kvcast/moqt/track_sender.h"

namespace kvcast::moqt {

// One request and its stream, seen from either side. Each kind says which messages may come when;
// this part knows the stream's two halves, and how a request is cancelled.
//
// A request that is over stays until what it received has been taken.
class Request {
 public:
  Request(RequestId id, StreamId stream, SessionState& state)
      : id_(id), stream_(stream), state_(&state) {}
  virtual ~Request() = default;
  Request(const Request&) = delete;
  Request& operator=(const Request&) = delete;

  RequestId id() const { return id_; }
  StreamId stream() const { return stream_; }

  // The message that began it.
  virtual MessageKind kind() const = 0;
  // Where messages of the peer's stand on its stream.
  MessagePlace place() const { return {Other(state_->role), false, kind(), false}; }

  // What came on the stream. A session's fault ends the session, a track's the request.
  Decoded<void> Receive(Message message);
  void OnFin();
  void OnReset(uint64_t code);
  void OnStopSending(uint64_t code);
  // The peer wants no more of a data stream of ours.
  virtual void OnDataStopped(StreamId stream) { (void)stream; }
  // A subgroup of the peer's has ended, and the receiving half knows.
  virtual void OnSubgroupEnded() {}

  // Streams of the peer's that bring what was asked for, while they are open.
  void Attach(StreamId stream) { data_streams_.insert(stream); }
  void Detach(StreamId stream) { data_streams_.erase(stream); }
  const std::set<StreamId>& data_streams() const { return data_streams_; }

  // We give up, or the track is malformed: the peer is told by resetting the stream.
  void Cancel(ResetCode code);
  void Fail(uint64_t code, std::string reason);

  // Answers a request of the peer's with an error. Invalid: it was answered, or is ours.
  Result<void> Refuse(const RequestError& error);

  // Nothing more is sent or received for it.
  bool over() const { return over_; }
  // The halves that a user commands, where the request has them.
  virtual TrackSender* sender() { return nullptr; }
  virtual TrackReceiver* receiver() { return nullptr; }
  virtual ReceiveQueue* queue() { return receiver() == nullptr ? nullptr : &receiver()->queue(); }

 protected:
  virtual Decoded<void> OnMessage(Message& message) = 0;
  // Whether the peer waits for us to accept or refuse.
  virtual bool awaits_answer() const { return false; }
  // The peer's half ended well; false if it should not have, which cancels the request.
  virtual bool MayEndHere() const = 0;
  // The request is over: free what it claimed, end its data streams.
  virtual void Release(ResetCode code) { (void)code; }
  // Whether the peer may change it.
  virtual bool may_be_updated() const { return false; }
  // Why an update cannot be granted, which ends the request.
  virtual std::optional<RequestError> RefusalOfUpdate(const Parameters& parameters) {
    (void)parameters;
    return std::nullopt;
  }
  virtual Parameters UpdateAnswer() const { return {}; }
  virtual void OnUpdate(const Parameters& parameters) { (void)parameters; }

  // REQUIRES: the message fits.
  void Send(const Message& message, bool fin = false) {
    SendEncoded(state_->codec.Encode(message).value(), fin);
  }
  void SendEncoded(Bytes message, bool fin = false);
  void SendFin();
  // Ends our half if it is open, and the request with it.
  void Finish();
  void Tell(Event event) { state_->outbox.Tell(std::move(event)); }
  SessionState& state() { return *state_; }
  const SessionState& state() const { return *state_; }
  Decoded<void> OnError(RequestError& error);
  static Fault Unexpected(const Message& message);

 private:
  Decoded<void> OnGoAway(GoAway& message);
  Decoded<void> OnRequestUpdate(RequestUpdate& update);
  void End(ResetCode code);
  void Abort(uint64_t code);

  RequestId id_;
  StreamId stream_;
  SessionState* state_;
  bool sent_all_ = false;      // Our half is finished or reset.
  bool received_all_ = false;  // The peer's is.
  std::set<StreamId> data_streams_;
  bool going_away_ = false;
  bool over_ = false;
};

}  // namespace kvcast::moqt
