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
  bool is_owed_answer() const override { return !accepted_; }
  bool may_update() const override { return accepted_ && !ending(); }
  void OnUpdateRefused(const std::string& reason) override {
    (void)EndTrack(DoneCode::kUpdateFailed, "The subscriber refused an update.").ok();
    TellCancelled(reason);
  }

 private:
  std::optional<Location> largest_;  // As PUBLISH said.
  bool accepted_ = false;
};

// A subscription that the peer, the publisher, asks us for.
//
// It may cross a SUBSCRIBE of ours for the same track, which the publisher then refuses. Of the two
// only one is ever established: ours ends before this one is accepted, and this one is refused if
// ours is accepted first.
class IncomingPublish final : public SubscriberSide {
 public:
  using SubscriberSide::SubscriberSide;
  MessageKind kind() const override { return MessageKind::kPublish; }
  Decoded<void> Begin(const Publish& message);
  // A request of ours for the track waits for an answer, and has the claim to it until now.
  void Cross(RequestId ours);

  // Invalid: it was answered before.
  Result<void> Accept(const Parameters& parameters);
  // The track comes by another request.
  void RefuseAsDuplicate();

 protected:
  Decoded<void> OnMessage(Message& message) override;
  bool awaits_answer() const override { return !accepted_; }
  bool accepted() const override { return accepted_; }
  bool may_be_updated() const override { return true; }
  // It is for the publisher to end the subscription.
  void FailUpdate(const RequestError& error) override { SendAnswer(error); }
  // A request of ours that still waits gets its claim back.
  void Release(ResetCode code) override;

 private:
  Request* crossed();

  std::optional<RequestId> crossed_;
  bool accepted_ = false;
};

}  // namespace kvcast::moqt
