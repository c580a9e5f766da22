#pragma once

#include <set>

#include "kvcast/moqt/kept_bytes.h"
#include "kvcast/moqt/space_request.h"

namespace kvcast::moqt {

// We want every track below a prefix: the peer publishes each by a request of its own, and goes on
// with those when this one ends.
class OutgoingSubscribeTracks final : public OutgoingSpaceRequest {
 public:
  static constexpr MessageKind kKind = MessageKind::kSubscribeTracks;
  static constexpr bool kClaimsPrefix = true;

  static Result<RequestId> Open(SessionState& state, const TrackNamespace& prefix,
                                const Parameters& parameters) {
    return OpenWith<OutgoingSubscribeTracks, SubscribeTracks>(state, prefix, parameters);
  }
  using OutgoingSpaceRequest::OutgoingSpaceRequest;
  MessageKind kind() const override { return kKind; }

 protected:
  Decoded<void> OnLater(Message& message) override;

 private:
  friend OutgoingSpaceRequest;
};

// The peer wants every track below a prefix.
class IncomingSubscribeTracks final : public IncomingSpaceRequest {
 public:
  using IncomingSpaceRequest::IncomingSpaceRequest;
  MessageKind kind() const override { return MessageKind::kSubscribeTracks; }

  // Whether a track below the prefix is for this request to be published to.
  bool Covers(const TrackName& track) const {
    return !over() && accepted() && space().IsPrefixOf(track.space());
  }
  // Says that a track cannot be published for want of a stream, once. Invalid: not covered. Too
  // large: so many could not be that the request fails.
  Result<void> Block(const TrackName& track);
  // Whether it was said: then the track must not be published any more.
  bool IsBlocked(const TrackName& track) const { return blocked_.contains(track); }

 private:
  std::set<TrackName> blocked_;
  size_t blocked_bytes_ = 0;
  KeptBytes kept_blocked_{state().request_bytes, 0};
};

}  // namespace kvcast::moqt
