#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "kvcast/moqt/event.h"
#include "kvcast/moqt/fault.h"
#include "kvcast/moqt/kept_bytes.h"
#include "kvcast/moqt/late_messages.h"
#include "kvcast/moqt/receive_queue.h"
#include "kvcast/moqt/session_state.h"
#include "kvcast/moqt/track_receiver.h"
#include "kvcast/moqt/track_sender.h"

namespace kvcast::moqt {

// One request and its stream, seen from either side. Each kind says which messages may come when;
// this part knows the stream's two halves, how a request is changed, and how it is cancelled.
//
// A request that is over stays until what it received has been taken.
class Request {
 public:
  Request(RequestId id, StreamId stream, SessionState& state)
      : id_(id), stream_(stream), state_(&state), kept_(state.request_bytes, 0) {}
  virtual ~Request();
  Request(const Request&) = delete;
  Request& operator=(const Request&) = delete;

  RequestId id() const { return id_; }
  StreamId stream() const { return stream_; }
  // The message that began it.
  virtual MessageKind kind() const = 0;
  // Where messages of the peer's stand on its stream.
  MessagePlace place() const {
    return {Other(state_->role), false, kind(), !our_updates_.empty() || maybe_owed_ > 0};
  }

  // What came on the stream. A session's fault ends the session, a track's the request.
  Decoded<void> Receive(Message message);
  void OnFin();
  void OnReset(uint64_t code);
  void OnStopSending(uint64_t code);
  // The peer wants no more of a data stream of ours.
  virtual void OnDataStopped(StreamId stream) { (void)stream; }
  // Bytes of a stream of ours were sent for the first time.
  virtual void OnBytesSent(StreamId stream, uint64_t bytes) { (void)stream, (void)bytes; }
  // All of a stream of ours has arrived, for those that state.undelivered lists.
  virtual void OnDelivered(StreamId stream) { (void)stream; }
  // So many datagrams of ours were sent or dropped.
  virtual void OnDatagramsGone(uint64_t count) { (void)count; }
  // A subgroup of the peer's has ended, and the receiving half knows.
  virtual void OnSubgroupEnded() {}
  // A time that was set with the session's timers has come.
  virtual void OnTimer(Timers::Kind kind);

  // Streams of the peer's that bring what was asked for, while they are open.
  void Attach(StreamId stream) { data_streams_.insert(stream); }
  void Detach(StreamId stream) { data_streams_.erase(stream); }
  const std::set<StreamId>& data_streams() const { return data_streams_; }

  // We give up, or the track is malformed: the peer is told by resetting the stream.
  void Cancel(ResetCode code);
  void Fail(uint64_t code, std::string reason);
  // The peer's answer is none that we can live with: as if it had refused, for this reason.
  void RefuseAnswer(RequestCode code, std::string reason);

  // Answers a request of the peer's with an error. Invalid: it was answered, or is ours, or the
  // error may not be said of it.
  Result<void> Refuse(const RequestError& error);

  // Asks the peer to change it, and gives the update's id. Invalid: it was not accepted yet, cannot
  // be changed, or too many changes wait for an answer.
  Result<RequestId> Update(const Parameters& parameters);
  // Answers the oldest update of the peer's. An acceptance that comes before the request itself is
  // answered follows that answer. Invalid: there is none.
  Result<void> AcceptUpdate(const Parameters& parameters);
  Result<void> RefuseUpdate(const RequestError& error);

  // Asks the peer to take the request elsewhere; it is reset when the time, if there is one, is
  // over.
  Result<void> SendGoAway(std::string uri, uint64_t timeout_ms);

  // What a peer may say of leaving, once on each request's stream; `role` is ours.
  static Decoded<void> CheckGoAway(const GoAway& message, Role role, bool& said);

  // Nothing more is sent or received for it.
  bool over() const { return over_; }
  // What may come nevertheless. REQUIRES: over().
  LateMessages late() const;

  // What it makes us keep, of what the peer said.
  void Keep(size_t bytes) { kept_.Set(bytes); }

  // The halves that a user commands, where the request has them.
  virtual TrackSender* sender() { return nullptr; }
  virtual TrackReceiver* receiver() { return nullptr; }
  virtual ReceiveQueue* queue() { return receiver() == nullptr ? nullptr : &receiver()->queue(); }

 protected:
  virtual Decoded<void> OnMessage(Message& message) = 0;
  // Whether the peer waits for us to accept or refuse.
  virtual bool awaits_answer() const { return false; }
  // Whether we wait for the peer to, although the request may be over.
  virtual bool is_owed_answer() const { return false; }
  // The peer has nothing more to say after this; unless it may owe us something, since it is to
  // answer every update, and may say that it leaves for as long as its half is open.
  void NoteLastMessage(bool may_owe) {
    heard_last_ = true;
    may_owe_ = may_owe;
  }
  // The peer's half ended well; false if it should not have, which cancels the request.
  virtual bool MayEndHere() const = 0;
  // The request is over: free what it claimed, end its data streams.
  virtual void Release(ResetCode code) { (void)code; }

  // Changes that the peer asks for. Whether it may; why the change cannot be granted at all; what
  // it does once it is granted, and is answered with; what a refusal does beyond its message.
  virtual bool may_be_updated() const { return false; }
  virtual std::optional<RequestError> RefusalOfUpdate(const Parameters& parameters) {
    (void)parameters;
    return std::nullopt;
  }
  virtual void OnUpdate(const Parameters& parameters, Parameters& answer) {
    (void)parameters, (void)answer;
  }
  virtual void FailUpdate(const RequestError& error);
  virtual void OnUpdatesAnswered() {}
  bool has_unanswered_updates() const { return !their_updates_.empty(); }
  // The request was answered: updates that were accepted before are answered now.
  void AnswerUpdates();

  // Changes that we ask for: whether we may at all, whether this one is allowed, and what follows.
  virtual bool may_update() const { return false; }
  virtual Result<void> CheckUpdate(const Parameters& parameters) {
    (void)parameters;
    return {};
  }
  virtual void OnUpdated(const Parameters& parameters) { (void)parameters; }
  // A refusal ends the request: here, unless the peer has yet to say so by a message of its own.
  virtual void OnUpdateRefused(const std::string& reason) { (void)reason; }

  // REQUIRES: the message fits.
  void Send(const Message& message, bool fin = false) {
    SendEncoded(state_->codec.Encode(message).value(), fin);
  }
  // A later one of ours. Invalid: a parameter may not stand in it. Too large.
  Result<Bytes> Encode(const Message& message) const {
    return state_->codec.EncodeAt(message, {state_->role, false, kind(), false});
  }
  void SendEncoded(Bytes message, bool fin = false);
  void SendFin();
  // The same for what a peer can ask for again and again: where too much of it waits, the request
  // fails.
  void SendAnswer(const Message& message);
  // Ends our half if it is open, and the request with it.
  void Finish();
  void TellCancelled(std::string reason);
  void Tell(Event event) { state_->outbox.Tell(std::move(event)); }
  SessionState& state() { return *state_; }
  const SessionState& state() const { return *state_; }
  Decoded<void> OnError(RequestError& error);
  static Fault Unexpected(const Message& message);

 private:
  struct OurUpdate {
    RequestId id;
    Parameters parameters;
  };
  struct TheirUpdate {
    Parameters parameters;
    std::optional<Parameters> answer;
    KeptBytes kept;
  };

  Decoded<void> OnGoAway(GoAway& message);
  Decoded<void> OnRequestUpdate(RequestUpdate& update);
  // One error is for all that wait and for those that follow: it ends the request, though perhaps
  // not at once.
  void RefuseUpdates(const RequestError& error);
  Decoded<void> OnUpdateOk(RequestOk& ok);
  Decoded<void> OnUpdateError(RequestError& error);
  Decoded<void> CheckRedirect(const RequestError& error) const;
  Result<void> MaySend(const RequestError& error) const;
  bool is_about_namespace() const;
  void End(ResetCode code);
  void Abort(uint64_t code);

  RequestId id_;
  StreamId stream_;
  SessionState* state_;
  bool sent_all_ = false;      // Our half is finished or reset.
  bool received_all_ = false;  // The peer's is.
  std::set<StreamId> data_streams_;
  std::deque<OurUpdate> our_updates_;      // Sent, and not answered.
  std::deque<TheirUpdate> their_updates_;  // Received, and not answered.
  bool update_refused_ = false;            // Later ones are not looked at.
  size_t maybe_owed_ = 0;                  // Those that a refusal may have answered, or not.
  bool going_away_ = false;                // The peer said so.
  bool sent_away_ = false;                 // We did.
  bool over_ = false;
  bool cancelled_ = false;   // By resetting the stream, or refusing what comes on it.
  bool heard_last_ = false;  // Nothing may come any more,
  bool may_owe_ = false;     // but what was due before.
  KeptBytes kept_;
};

}  // namespace kvcast::moqt
