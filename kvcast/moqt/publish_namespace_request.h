#pragma once

#include "kvcast/moqt/space_request.h"

namespace kvcast::moqt {

// We have tracks below a namespace, for the peer to ask for. Cancelling takes that back.
class OutgoingPublishNamespace final : public OutgoingSpaceRequest {
 public:
  static constexpr MessageKind kKind = MessageKind::kPublishNamespace;
  static constexpr bool kClaimsPrefix = false;

  static Result<RequestId> Open(SessionState& state, const TrackNamespace& space,
                                const Parameters& parameters) {
    return OpenWith<OutgoingPublishNamespace, PublishNamespace>(state, space, parameters);
  }
  using OutgoingSpaceRequest::OutgoingSpaceRequest;
  MessageKind kind() const override { return kKind; }

 private:
  friend OutgoingSpaceRequest;
};

// The peer has.
class IncomingPublishNamespace final : public IncomingSpaceRequest {
 public:
  using IncomingSpaceRequest::IncomingSpaceRequest;
  MessageKind kind() const override { return MessageKind::kPublishNamespace; }
};

}  // namespace kvcast::moqt
