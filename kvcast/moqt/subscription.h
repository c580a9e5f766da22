#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "kvcast/moqt/request.h"

// The two sides of a subscription, whichever of them asked for it.
namespace kvcast::moqt {

// We publish. The subscriber may change what it wants, and leaves by cancelling.
class PublisherSide : public Request {
 public:
  PublisherSide(RequestId id, StreamId stream, SessionState& state, TrackName track)
      : Request(id, stream, state), track_(std::move(track)), sender_(id, state) {}

  TrackSender* sender() override { return &sender_; }
  void OnDataStopped(StreamId stream) override;

  // We publish no more: streams that are still open are reset, so end them before.
  Result<void> EndTrack(DoneCode code, std::string reason);

 protected:
  bool may_be_updated() const override { return true; }
  Parameters UpdateAnswer() const override;
  void OnUpdate(const Parameters& parameters) override { sender_.Update(parameters); }
  void Release(ResetCode code) override;
  const TrackName& track() const { return track_; }
  TrackSender& track_sender() { return sender_; }
  const TrackSender& track_sender() const { return sender_; }

 private:
  TrackName track_;
  TrackSender sender_;
};

// We subscribe. The publisher says when it is done.
class SubscriberSide : public Request {
 public:
  SubscriberSide(RequestId id, StreamId stream, SessionState& state, TrackName track)
      : Request(id, stream, state), track_(std::move(track)), receiver_(id, state) {}

  TrackReceiver* receiver() override { return &receiver_; }
  void OnSubgroupEnded() override { FinishIfComplete(); }

 protected:
  // The request was accepted, by whoever had to.
  virtual bool accepted() const = 0;
  bool MayEndHere() const override { return receiver_.done_received(); }
  Decoded<void> OnDone(const PublishDone& done);
  void FinishIfComplete();
  void Release(ResetCode code) override;
  const TrackName& track() const { return track_; }
  TrackReceiver& track_receiver() { return receiver_; }

 private:
  TrackName track_;
  TrackReceiver receiver_;
};

}  // namespace kvcast::moqt
