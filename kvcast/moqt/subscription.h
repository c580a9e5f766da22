#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

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
  void OnBytesSent(StreamId stream, uint64_t bytes) override;
  void OnDelivered(StreamId stream) override { sender_.OnDelivered(stream); }
  void OnDatagramsGone(uint64_t count) override;
  void OnTimer(Timers::Kind kind) override;

  const TrackName& track() const { return track_; }
  // Established, or asked for by the peer and not answered yet.
  bool may_be_joined() const { return !over() && (established_ || awaits_answer()); }
  // A fetch of the peer's that begins where this subscription ends. It waits until the subscription
  // is established and has no update that waits for an answer.
  void Join(RequestId fetch);

  // We publish no more: streams that are still open are reset, so end them before. The peer hears
  // of it once all of those has been sent, and all datagrams: what it is told of sooner than of
  // them, it might not wait for. Only one that is too far behind is not kept waiting for what it
  // did not take.
  //
  // Those of which something was sent are counted. Where others were given up before, or something
  // never came to us, of which `lacks_some` tells, an end that means all does not say how many
  // there were: the subscriber would take those for everything.
  Result<void> EndTrack(DoneCode code, std::string reason, bool lacks_some = false);
  // That was said to us, though the peer may not know yet.
  bool ending() const { return done_.has_value(); }

 protected:
  bool may_be_updated() const override { return true; }
  void OnUpdate(const Parameters& parameters, Parameters& answer) override;
  void FailUpdate(const RequestError& error) override;
  // Fetches that waited to join are told of, or refused, as soon as that can be.
  void OnUpdatesAnswered() override;
  void Release(ResetCode code) override;
  // The subscription is established: what the peer was told is the track's largest object.
  void Establish(std::optional<Location> largest);
  TrackSender& track_sender() { return sender_; }
  const TrackSender& track_sender() const { return sender_; }

 private:
  void FinishIfSent();

  TrackName track_;
  TrackSender sender_;
  bool established_ = false;
  std::optional<Location> joining_location_;
  std::vector<RequestId> joins_;
  std::optional<PublishDone> done_;  // As it is to be said, but for how many streams there were.
  bool lacks_some_ = false;          // Of what came to us, see EndTrack().
};

// We subscribe. The publisher says when it is done.
class SubscriberSide : public Request {
 public:
  SubscriberSide(RequestId id, StreamId stream, SessionState& state, TrackName track)
      : Request(id, stream, state), track_(std::move(track)), receiver_(id, state) {}

  // DUPLICATE_TRACK_ALIAS if another track comes under the alias, and is not done.
  static Decoded<void> CheckAlias(const SessionState& state, uint64_t alias,
                                  const TrackName& track);

  TrackReceiver* receiver() override { return &receiver_; }
  const TrackName& track() const { return track_; }
  void OnSubgroupEnded() override { FinishIfEnded(); }
  void OnTimer(Timers::Kind kind) override;

 protected:
  // The request was accepted, by whoever had to.
  virtual bool accepted() const = 0;
  bool MayEndHere() const override { return receiver_.done_received(); }
  Decoded<void> OnDone(const PublishDone& done);
  void FinishIfEnded();
  // Once it was accepted and is done, the track may come by another request, though not all of this
  // one has come.
  void UnclaimIfDone();
  void Release(ResetCode code) override;
  TrackReceiver& track_receiver() { return receiver_; }
  bool may_update() const override { return accepted() && !receiver_.done_received(); }
  Result<void> CheckUpdate(const Parameters& parameters) override;
  void OnUpdated(const Parameters& parameters) override { receiver_.Want(parameters); }

 private:
  TrackName track_;
  TrackReceiver receiver_;
};

}  // namespace kvcast::moqt
