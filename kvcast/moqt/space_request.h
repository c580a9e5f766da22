#pragma once

#include <memory>
#include <optional>
#include <utility>

#include "kvcast/moqt/request.h"

// What PUBLISH_NAMESPACE, SUBSCRIBE_NAMESPACE and SUBSCRIBE_TRACKS share: each is about a
// namespace, is answered by REQUEST_OK or REQUEST_ERROR, and stays until one side ends its half of
// the stream.
namespace kvcast::moqt {

// One of ours.
class OutgoingSpaceRequest : public Request {
 public:
  OutgoingSpaceRequest(RequestId id, StreamId stream, SessionState& state, TrackNamespace space)
      : Request(id, stream, state), space_(std::move(space)) {}

  const TrackNamespace& space() const { return space_; }

 protected:
  // Sends the message and adds the request. Invalid: a request of its kind has a prefix above or
  // below.
  template <typename T, typename Body>
  static Result<RequestId> OpenWith(SessionState& state, const TrackNamespace& space,
                                    const Parameters& parameters) {
    const RequestId id = state.requests.next_id();
    KVCAST_TRY(Bytes message, state.EncodeRequest(Body{id, space, parameters}));
    if (T::kClaimsPrefix && !state.requests.receiving_below(T::kKind).Claim(space, id)) {
      return Error(ErrorCode::kInvalid, "What is below this prefix comes from this peer already.");
    }
    (void)state.requests.NextId();
    auto request = std::make_unique<T>(id, state.OpenBidi(), state, space);
    request->SendEncoded(std::move(message));
    state.requests.Add(std::move(request));
    return id;
  }

  // Messages after the answer, other than those that answer updates.
  virtual Decoded<void> OnLater(Message& message) { return Unexpected(message); }
  // The prefix is another from now on.
  virtual void OnPrefixChanged() {}

  Decoded<void> OnMessage(Message& message) final;
  bool MayEndHere() const override { return false; }
  void Release(ResetCode code) override;
  bool may_update() const override { return accepted_; }
  Result<void> CheckUpdate(const Parameters& parameters) override;
  void OnUpdated(const Parameters& parameters) override;
  void OnUpdateRefused(const std::string& reason) override {
    NoteLastMessage(true);
    Finish();
    TellCancelled(reason);
  }

 private:
  TrackNamespace space_;
  bool accepted_ = false;
};

// One of the peer's. It leaves by ending its half of the stream, well or not.
class IncomingSpaceRequest : public Request {
 public:
  IncomingSpaceRequest(RequestId id, StreamId stream, SessionState& state, TrackNamespace space)
      : Request(id, stream, state), space_(std::move(space)) {}

  // Invalid: it was answered before.
  Result<void> Accept(const Parameters& parameters);
  bool accepted() const { return accepted_; }
  const TrackNamespace& space() const { return space_; }

 protected:
  virtual void OnPrefixChanged() {}

  Decoded<void> OnMessage(Message& message) override { return Unexpected(message); }
  bool MayEndHere() const override { return false; }
  bool awaits_answer() const override { return !accepted_; }
  void Release(ResetCode code) override;
  bool may_be_updated() const override { return true; }
  std::optional<RequestError> RefusalOfUpdate(const Parameters& parameters) override;
  void OnUpdate(const Parameters& parameters, Parameters& answer) override;

 private:
  TrackNamespace space_;
  bool accepted_ = false;
};

}  // namespace kvcast::moqt
