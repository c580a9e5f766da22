#pragma once

#include "kvcast/moqt/subscription.h"

namespace kvcast::moqt {

// A subscription that we, the publisher, ask for. Objects may be sent before it is accepted.
class OutgoingPublish final : public PublisherSide {
 public:
  // Invalid: the track is published here already. Too large: it does not fit a message.
  static Result<RequestId> Open(SessionState& state, const TrackName& track,
                                const Parameters& parameters, const Properties& properties);
  using PublisherSide::PublisherSide;
  MessageKind kind() const override { return MessageKind::kPublish; }

 protected:
  Decoded<void> OnMessage(Message& message) override;
  bool MayEndHere() const override { return accepted_; }
  bool may_update() const override { return accepted_; }
  void OnUpdateRefused() override {
    (void)EndTrack(DoneCode::kUpdateFailed, "The subscriber refused an update.").ok();
  }

 private:
  std::optional<Location> largest_;  // As PUBLISH said.
  bool accepted_ = false;
};

// A subscription that the peer, the publisher, asks us for.
class IncomingPublish final : public SubscriberSide {
 public:
  using SubscriberSide::SubscriberSide;
  MessageKind kind() const override { return MessageKind::kPublish; }
  Decoded<void> Begin(const Publish& message);

  // Invalid: it was answered before.
  Result<void> Accept(const Parameters& parameters);

 protected:
  Decoded<void> OnMessage(Message& message) override;
  bool awaits_answer() const override { return !accepted_; }
  bool accepted() const override { return accepted_; }
  bool may_be_updated() const override { return true; }
  // It is for the publisher to end the subscription.
  void FailUpdate(const RequestError& error) override { SendAnswer(error); }

 private:
  bool accepted_ = false;
};

}  // namespace kvcast::moqt
