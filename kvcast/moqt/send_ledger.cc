#include "kvcast/moqt/send_ledger.h"

#include <algorithm>

#include "kvcast/base/check.h"

namespace kvcast::moqt {

void SendLedger::Open(StreamId stream, RequestId request) {
  const auto [found, is_new] = streams_.try_emplace(stream);
  if (!is_new) {
    return;
  }
  found->second.request = request;
  found->second.data = IsUni(stream);
  if (found->second.data) {
    ++accounts_[request].streams;
  }
}

void SendLedger::Add(StreamId id, size_t bytes) {
  const auto found = streams_.find(id);
  KVCAST_CHECK(found != streams_.end());
  if (bytes == 0) {
    return;
  }
  Stream& stream = found->second;
  const size_t cost = bytes + kPieceBytes + (stream.pieces.empty() ? kStreamBytes : 0);
  stream.pieces.push_back(bytes);
  stream.cost += cost;
  if (!stream.data) {
    message_bytes_ += cost;
    return;
  }
  Account& account = accounts_[stream.request];
  account.queued += cost;
  queued_bytes_ += cost;
  account.ahead = account.ahead || account.queued >= limits_->send_queue_high_bytes;
}

void SendLedger::Reduce(Stream& stream, size_t cost) {
  stream.cost -= cost;
  if (!stream.data) {
    message_bytes_ -= cost;
    return;
  }
  Account& account = accounts_[stream.request];
  account.queued -= cost;
  queued_bytes_ -= cost;
  if (account.ahead && account.queued <= limits_->send_queue_low_bytes) {
    account.ahead = false;
    outbox_->Tell(SendRoom{stream.request});
  }
}

void SendLedger::Forget(std::map<StreamId, Stream>::iterator stream) {
  if (stream->second.data) {
    const auto account = accounts_.find(stream->second.request);
    if (--account->second.streams == 0 && !account->second.ahead) {
      accounts_.erase(account);
    }
  }
  streams_.erase(stream);
}

void SendLedger::Finish(StreamId stream) {
  const auto found = streams_.find(stream);
  KVCAST_CHECK(found != streams_.end());
  found->second.finished = true;
  if (found->second.pieces.empty()) {
    Forget(found);
  }
}

void SendLedger::Sent(StreamId id, uint64_t bytes) {
  const auto found = streams_.find(id);
  if (found == streams_.end()) {
    return;
  }
  // The end of a stream costs no bytes, and a stream that was reset owes none.
  Stream& stream = found->second;
  size_t freed = 0;
  while (bytes > 0 && !stream.pieces.empty()) {
    size_t& piece = stream.pieces.front();
    const size_t counted = static_cast<size_t>(std::min<uint64_t>(bytes, piece));
    piece -= counted;
    bytes -= counted;
    freed += counted;
    if (piece == 0) {
      stream.pieces.pop_front();
      freed += kPieceBytes + (stream.pieces.empty() ? kStreamBytes : 0);
    }
  }
  if (stream.data && freed > 0) {
    accounts_[stream.request].progress = ++last_progress_;
  }
  Reduce(stream, freed);
  if (stream.finished && stream.pieces.empty()) {
    Forget(found);
  }
}

void SendLedger::Drop(StreamId stream) {
  const auto found = streams_.find(stream);
  if (found == streams_.end()) {
    return;
  }
  Reduce(found->second, found->second.cost);
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

std::vector<RequestId> SendLedger::QueuedRequests() const {
  std::vector<RequestId> queued;
  for (const auto& [request, account] : accounts_) {
    if (account.queued > 0) {
      queued.push_back(request);
    }
  }
  return queued;
}

uint64_t SendLedger::progress(RequestId request) const {
  const auto found = accounts_.find(request);
  return found == accounts_.end() ? 0 : found->second.progress;
}

size_t SendLedger::message_bytes(StreamId stream) const {
  const auto found = streams_.find(stream);
  return found == streams_.end() ? 0 : found->second.cost;
}

}  // namespace kvcast::moqt
