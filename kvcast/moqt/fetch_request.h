#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>

#include "kvcast/moqt/auth_rules.h"
#include "kvcast/moqt/data_stream.h"
#include "kvcast/moqt/request.h"

namespace kvcast::moqt {

// A range of objects that we ask for. The answer and the objects come on two streams, in any order.
class OutgoingFetch final : public Request {
 public:
  // `fetch` is what we want; its id is filled in. Invalid: the range is empty. Too large: it does
  // not fit a message.
  static Result<RequestId> Open(SessionState& state, Fetch fetch);
  OutgoingFetch(RequestId id, StreamId stream, SessionState& state, Fetch message)
      : Request(id, stream, state),
        message_(std::move(message)),
        queue_(id, state.credit, state.outbox, state.now) {}

  MessageKind kind() const override { return MessageKind::kFetch; }
  GroupOrder order() const { return message_.order(); }
  ReceiveQueue* queue() override { return &queue_; }

  // Its data stream. A second one is a violation.
  Decoded<void> OnDataOpened();
  Decoded<void> OnItem(StreamId stream, FetchItem item);
  void OnDataEnded(StreamId stream, const FetchEnd& end);

 protected:
  Decoded<void> OnMessage(Message& message) override;
  bool MayEndHere() const override { return accepted_; }
  bool may_update() const override { return accepted_; }
  void OnUpdateRefused(const std::string& reason) override {
    Fail(static_cast<uint64_t>(ResetCode::kCancelled), reason);
  }

 private:
  Decoded<void> OnOk(FetchOk& ok);
  void FinishIfComplete();

  Fetch message_;
  ReceiveQueue queue_;
  bool accepted_ = false;
  bool data_opened_ = false;
  bool data_ended_ = false;
};

// A range of objects that the peer asks for.
class IncomingFetch final : public Request {
 public:
  IncomingFetch(RequestId id, StreamId stream, SessionState& state, Fetch message)
      : Request(id, stream, state),
        message_(std::move(message)),
        writer_(state.codec.WriteFetch(id, message_.order())),
        subscriber_priority_(message_.parameters.subscriber_priority.value_or(kDefaultPriority)) {}
  MessageKind kind() const override { return MessageKind::kFetch; }

  // A joining fetch waits for its subscription, and is refused if that takes too long.
  void AwaitSubscription();
  // It was told of, with its tokens.
  void ForgetTokens() { message_.parameters = WithoutTokens(message_.parameters); }
  // Where a joining fetch is from and to, as its subscription says; the user is told of it. A start
  // that lies beyond is refused.
  void Resolve(const TrackName& track, Location joining_location, RequestId subscription);
  void RefuseJoin(RequestCode code, std::string reason);

  // The range's end is known. Objects may be sent before. Invalid: it was answered before.
  Result<void> Accept(const FetchOk& answer);
  // Invalid: outside the range, out of order, or all was written.
  Result<void> Send(const Object& object);
  Result<void> Send(const RangeEnd& end);
  // All was written that there is. The request is over once it has been sent: until then the peer
  // can change how urgent it is, and cancel it.
  Result<void> EndData();
  // It was not, and will not be.
  Result<void> ResetData(ResetCode code);

  void OnDataStopped(StreamId stream) override;
  void OnTimer(Timers::Kind kind) override;
  void OnBytesSent(StreamId stream, uint64_t bytes) override;

 protected:
  Decoded<void> OnMessage(Message& message) override { return Unexpected(message); }
  bool MayEndHere() const override { return true; }
  bool awaits_answer() const override { return !accepted_; }
  bool may_be_updated() const override { return true; }
  void OnUpdate(const Parameters& parameters, Parameters& answer) override;
  void Release(ResetCode code) override;

 private:
  // Objects from `begin` on are of this priority.
  struct PriorityChange {
    uint64_t begin;
    uint8_t priority;
  };

  Result<void> MayWrite(Location location) const;
  SendOrder order() const {
    return {SendOrder::Tier::kData, subscriber_priority_, publisher_priority_, id(), 0, 0};
  }
  void NotePriority(uint8_t priority);
  void SetPriority(uint8_t priority);
  StreamId DataStream();
  void Write(Bytes bytes);
  bool sent_all() const { return data_ended_ && sent_ >= written_; }
  void FinishIfComplete();

  Fetch message_;
  std::unique_ptr<FetchWriter> writer_;
  uint8_t subscriber_priority_;
  uint8_t publisher_priority_ = kDefaultPriority;  // Of what is sent next.
  std::deque<PriorityChange> changes_;             // Of what waits behind that.
  uint64_t written_ = 0;
  uint64_t sent_ = 0;
  std::optional<StreamId> data_;
  bool accepted_ = false;
  bool data_ended_ = false;
  bool data_reset_ = false;
};

}  // namespace kvcast::moqt
