#pragma once

#include "kvcast/moqt/auth_rules.h"
#include "kvcast/moqt/subscription.h"

namespace kvcast::moqt {

// A subscription that we, the subscriber, ask for.
class OutgoingSubscribe final : public SubscriberSide {
 public:
  // Invalid: we are subscribed to the track already. Too large: it does not fit a message.
  static Result<RequestId> Open(SessionState& state, const TrackName& track,
                                const Parameters& parameters);
  using SubscriberSide::SubscriberSide;
  MessageKind kind() const override { return MessageKind::kSubscribe; }
  bool accepted() const override { return accepted_; }

 protected:
  Decoded<void> OnMessage(Message& message) override;

 private:
  Decoded<void> OnOk(SubscribeOk& ok);

  bool accepted_ = false;
};

// A subscription that the peer, the subscriber, asks us for.
class IncomingSubscribe final : public PublisherSide {
 public:
  IncomingSubscribe(RequestId id, StreamId stream, SessionState& state, Subscribe message)
      : PublisherSide(id, stream, state, std::move(message.track)),
        wanted_(WithoutTokens(message.parameters)) {}
  MessageKind kind() const override { return MessageKind::kSubscribe; }

  // Invalid: it was answered before. Too large: the properties do not fit a message.
  Result<void> Accept(const Parameters& parameters, const Properties& properties);

 protected:
  Decoded<void> OnMessage(Message& message) override { return Unexpected(message); }
  bool MayEndHere() const override { return true; }
  bool awaits_answer() const override { return !accepted_; }

 private:
  Parameters wanted_;
  bool accepted_ = false;
};

}  // namespace kvcast::moqt
