#pragma once

#include <cstddef>
#include <set>

#include "kvcast/moqt/space_request.h"

namespace kvcast::moqt {

// We want to hear of every namespace below a prefix.
class OutgoingSubscribeNamespace final : public OutgoingSpaceRequest {
 public:
  static constexpr MessageKind kKind = MessageKind::kSubscribeNamespace;
  static constexpr bool kClaimsPrefix = true;

  static Result<RequestId> Open(SessionState& state, const TrackNamespace& prefix,
                                const Parameters& parameters) {
    return OpenWith<OutgoingSubscribeNamespace, SubscribeNamespace>(state, prefix, parameters);
  }
  using OutgoingSpaceRequest::OutgoingSpaceRequest;
  MessageKind kind() const override { return kKind; }

 protected:
  Decoded<void> OnLater(Message& message) override;
  void OnPrefixChanged() override;
  void Release(ResetCode code) override;

 private:
  friend OutgoingSpaceRequest;
  Decoded<void> OnNamespace(const TrackNamespace& below);
  Decoded<void> OnNamespaceDone(const TrackNamespace& below);
  void Forget(std::set<TrackNamespace>::iterator space);

  std::set<TrackNamespace> known_;  // Told of and not withdrawn, prefix included.
};

// The peer wants to.
class IncomingSubscribeNamespace final : public IncomingSpaceRequest {
 public:
  using IncomingSpaceRequest::IncomingSpaceRequest;
  MessageKind kind() const override { return MessageKind::kSubscribeNamespace; }

  // Tells of a namespace, unless it is told. Invalid: it does not lie below the prefix, or the
  // request was not accepted. A peer that does not read what it is told loses the request, and so
  // does one of whom too much would have to be remembered.
  Result<void> Announce(const TrackNamespace& space);
  // Invalid: it was not told of.
  Result<void> Withdraw(const TrackNamespace& space);

 protected:
  // What was told under another prefix has to be told again, by whoever told it.
  void OnPrefixChanged() override { ForgetTold(); }
  void Release(ResetCode code) override;

 private:
  void ForgetTold();

  std::set<TrackNamespace> told_;
  size_t told_bytes_ = 0;  // Of these; the session's include them.
};

}  // namespace kvcast::moqt
