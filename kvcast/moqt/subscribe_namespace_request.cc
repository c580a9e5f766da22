#include "kvcast/moqt/subscribe_namespace_request.h"

#include <iterator>
#include <utility>

namespace kvcast::moqt {
namespace {

size_t BytesOf(const TrackNamespace& space) {
  return sizeof(TrackNamespace) + 64 + space.length() + 2 * space.field_count();
}

}  // namespace

Decoded<void> OutgoingSubscribeNamespace::OnLater(Message& message) {
  if (const Namespace* told = std::get_if<Namespace>(&message)) {
    return OnNamespace(told->below);
  }
  if (const NamespaceDone* done = std::get_if<NamespaceDone>(&message)) {
    return OnNamespaceDone(done->below);
  }
  return Unexpected(message);
}

Decoded<void> OutgoingSubscribeNamespace::OnNamespace(const TrackNamespace& below) {
  KVCAST_TRY(TrackNamespace whole, space().Join(below));
  const size_t bytes = BytesOf(whole);
  if (state().namespace_bytes + bytes > state().limits.namespace_bytes) {
    return Fault::Track(ResetCode::kExcessiveLoad, "The peer tells of too many namespaces.");
  }
  if (known_.insert(whole).second) {
    state().namespace_bytes += bytes;
    Tell(NamespaceReceived{id(), std::move(whole)});
  }
  return {};
}

Decoded<void> OutgoingSubscribeNamespace::OnNamespaceDone(const TrackNamespace& below) {
  KVCAST_TRY(TrackNamespace whole, space().Join(below));
  const auto found = known_.find(whole);
  if (found == known_.end()) {
    return Fault::Violation("NAMESPACE_DONE came before NAMESPACE.");
  }
  Forget(found);
  Tell(NamespaceWithdrawn{id(), std::move(whole)});
  return {};
}

void OutgoingSubscribeNamespace::Forget(std::set<TrackNamespace>::iterator space) {
  state().namespace_bytes -= BytesOf(*space);
  known_.erase(space);
}

// What lies outside the new prefix is of no interest any more.
void OutgoingSubscribeNamespace::OnPrefixChanged() {
  for (auto next = known_.begin(); next != known_.end();) {
    const auto each = next++;
    if (!space().IsPrefixOf(*each)) {
      Tell(NamespaceWithdrawn{id(), *each});
      Forget(each);
    }
  }
}

void OutgoingSubscribeNamespace::Release(ResetCode code) {
  OutgoingSpaceRequest::Release(code);
  while (!known_.empty()) {
    Forget(known_.begin());
  }
}

Result<void> IncomingSubscribeNamespace::Announce(const TrackNamespace& whole) {
  if (over() || !accepted() || !space().IsPrefixOf(whole)) {
    return Error(ErrorCode::kInvalid, "No such namespace was subscribed to.");
  }
  if (told_.contains(whole)) {
    return {};
  }
  const size_t bytes = BytesOf(whole);
  if (state().told_namespace_bytes + bytes > state().limits.told_namespace_bytes) {
    Fail(static_cast<uint64_t>(ResetCode::kExcessiveLoad), "Too many namespaces are below it.");
    return Error(ErrorCode::kTooLarge, "The peer has been told of too many namespaces.");
  }
  told_.insert(whole);
  told_bytes_ += bytes;
  state().told_namespace_bytes += bytes;
  SendAnswer(Namespace{whole.After(space().field_count())});
  return {};
}

Result<void> IncomingSubscribeNamespace::Withdraw(const TrackNamespace& whole) {
  if (over() || told_.erase(whole) == 0) {
    return Error(ErrorCode::kInvalid, "The namespace was not told of.");
  }
  told_bytes_ -= BytesOf(whole);
  state().told_namespace_bytes -= BytesOf(whole);
  SendAnswer(NamespaceDone{whole.After(space().field_count())});
  return {};
}

void IncomingSubscribeNamespace::Release(ResetCode code) {
  IncomingSpaceRequest::Release(code);
  ForgetTold();
}

void IncomingSubscribeNamespace::ForgetTold() {
  state().told_namespace_bytes -= std::exchange(told_bytes_, 0);
  told_.clear();
}

}  // namespace kvcast::moqt
