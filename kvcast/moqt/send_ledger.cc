#include "kvcast/moqt/send_ledger.h"

#include <algorithm>

#include "kvcast/base/check.h"

namespace kvcast::moqt {

void SendLedger::Open(StreamId stream, RequestId request) {
  streams_[stream].request = request;
  ++accounts_[request].streams;
}

void SendLedger::Add(StreamId stream, size_t bytes) {
  const auto found = streams_.find(stream);
  KVCAST_CHECK(found != streams_.end());
  found->second.queued += bytes;
  Account& account = accounts_[found->second.request];
  account.queued += bytes;
  queued_bytes_ += bytes;
  account.ahead = account.ahead || account.queued >= limits_->send_queue_high_bytes;
}

void SendLedger::Reduce(Account& account, RequestId request, size_t bytes) {
  account.queued -= bytes;
  queued_bytes_ -= bytes;
  if (account.ahead && account.queued <= limits_->send_queue_low_bytes) {
    account.ahead = false;
    outbox_->Tell(SendRoom{request});
  }
}

void SendLedger::Forget(std::map<StreamId, Stream>::iterator stream) {
  const auto account = accounts_.find(stream->second.request);
  if (--account->second.streams == 0 && !account->second.ahead) {
    accounts_.erase(account);
  }
  streams_.erase(stream);
}

void SendLedger::Finish(StreamId stream) {
  const auto found = streams_.find(stream);
  KVCAST_CHECK(found != streams_.end());
  found->second.finished = true;
  if (found->second.queued == 0) {
    Forget(found);
  }
}

void SendLedger::Sent(StreamId stream, uint64_t bytes) {
  const auto found = streams_.find(stream);
  if (found == streams_.end()) {
    return;
  }
  // The end of a stream costs no bytes, and a stream that was reset owes none.
  const size_t counted = static_cast<size_t>(std::min<uint64_t>(bytes, found->second.queued));
  found->second.queued -= counted;
  Reduce(accounts_[found->second.request], found->second.request, counted);
  if (found->second.finished && found->second.queued == 0) {
    Forget(found);
  }
}

void SendLedger::Drop(StreamId stream) {
  const auto found = streams_.find(stream);
  if (found == streams_.end()) {
    return;
  }
  Reduce(accounts_[found->second.request], found->second.request, found->second.queued);
  Forget(found);
}

std::optional<RequestId> SendLedger::RequestOf(StreamId stream) const {
  const auto found = streams_.find(stream);
  return found == streams_.end() ? std::nullopt : std::optional(found->second.request);
}

size_t SendLedger::queued_bytes(RequestId request) const {
  const auto found = accounts_.find(request);
  return found == accounts_.end() ? 0 : found->second.queued;
}

}  // namespace kvcast::moqt
