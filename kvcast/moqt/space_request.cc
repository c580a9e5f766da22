#include "kvcast/moqt/space_request.h"

#include "kvcast/moqt/reserved_space.h"

namespace kvcast::moqt {

Decoded<void> OutgoingSpaceRequest::OnMessage(Message& message) {
  if (accepted_) {
    return OnLater(message);
  }
  if (RequestError* error = std::get_if<RequestError>(&message)) {
    return OnError(*error);
  }
  RequestOk* ok = std::get_if<RequestOk>(&message);
  if (ok == nullptr) {
    return Unexpected(message);
  }
  accepted_ = true;
  Tell(RequestAccepted{id(), std::move(ok->parameters), {}});
  return {};
}

Result<void> OutgoingSpaceRequest::CheckUpdate(const Parameters& parameters) {
  if (parameters.namespace_prefix && IsReserved(*parameters.namespace_prefix)) {
    return Error(ErrorCode::kInvalid, "The namespace is kept for the protocol.");
  }
  if (parameters.namespace_prefix &&
      !state().requests.receiving_below(kind()).Claim(*parameters.namespace_prefix, id())) {
    return Error(ErrorCode::kInvalid, "What is below this prefix comes from this peer already.");
  }
  return {};
}

void OutgoingSpaceRequest::OnUpdated(const Parameters& parameters) {
  if (parameters.namespace_prefix) {
    space_ = *parameters.namespace_prefix;
    OnPrefixChanged();
  }
}

void OutgoingSpaceRequest::Release(ResetCode code) {
  (void)code;
  state().requests.receiving_below(kind()).Release(id());
}

Result<void> IncomingSpaceRequest::Accept(const Parameters& parameters) {
  if (over() || accepted_) {
    return Error(ErrorCode::kInvalid, "The request does not wait for an answer.");
  }
  KVCAST_TRY(Bytes message, Encode(RequestOk{parameters, {}}));
  accepted_ = true;
  SendEncoded(std::move(message));
  AnswerUpdates();
  return {};
}

std::optional<RequestError> IncomingSpaceRequest::RefusalOfUpdate(const Parameters& parameters) {
  if (parameters.namespace_prefix && IsReserved(*parameters.namespace_prefix)) {
    return RequestError{RequestCode::kDoesNotExist, std::nullopt,
                        "The namespace is kept for the protocol.", std::nullopt};
  }
  if (parameters.namespace_prefix &&
      !state().requests.sending_below(kind()).Claim(*parameters.namespace_prefix, id())) {
    return RequestError{RequestCode::kPrefixOverlap, std::nullopt,
                        "Another subscription lies above or below this prefix.", std::nullopt};
  }
  return std::nullopt;
}

void IncomingSpaceRequest::OnUpdate(const Parameters& parameters, Parameters& answer) {
  (void)answer;
  if (parameters.namespace_prefix) {
    space_ = *parameters.namespace_prefix;
    Keep(KeptOf(space_));
    OnPrefixChanged();
  }
}

void IncomingSpaceRequest::Release(ResetCode code) {
  (void)code;
  state().requests.sending_below(kind()).Release(id());
}

}  // namespace kvcast::moqt
