#include "kvcast/moqt/credit_book.h"

#include <utility>

#include "kvcast/base/check.h"

namespace kvcast::moqt {

void CreditBook::Settle(StreamId stream, Account& account) {
  if (account.uncredited == 0 || !account.open || account.held || full() ||
      account.queued >= limits_->stream_queue_bytes) {
    return;
  }
  outbox_->Do(StreamCredit{stream, std::exchange(account.uncredited, 0)});
}

void CreditBook::SettleConnection() {
  if (connection_uncredited_ > 0 && !full()) {
    outbox_->Do(ConnectionCredit{std::exchange(connection_uncredited_, 0)});
  }
}

void CreditBook::Arrived(StreamId stream, size_t bytes) {
  Account& account = accounts_[stream];
  account.uncredited += bytes;
  connection_uncredited_ += bytes;
  Settle(stream, account);
  SettleConnection();
}

void CreditBook::Hold(StreamId stream) { accounts_[stream].held = true; }

void CreditBook::Release(StreamId stream) {
  Account& account = accounts_[stream];
  account.held = false;
  Settle(stream, account);
}

void CreditBook::Close(StreamId stream) {
  const auto found = accounts_.find(stream);
  if (found == accounts_.end()) {
    return;
  }
  found->second.open = false;
  if (found->second.queued == 0) {
    accounts_.erase(found);
  }
}

void CreditBook::Queued(StreamId stream, size_t bytes) {
  const auto [found, is_new] = accounts_.try_emplace(stream);
  found->second.open = found->second.open && !is_new;
  found->second.queued += bytes;
  queued_bytes_ += bytes;
}

void CreditBook::Taken(StreamId stream, size_t bytes) {
  const auto found = accounts_.find(stream);
  KVCAST_CHECK(found != accounts_.end() && found->second.queued >= bytes);
  const bool was_full = full();
  found->second.queued -= bytes;
  queued_bytes_ -= bytes;
  Settle(stream, found->second);
  if (!found->second.open && found->second.queued == 0) {
    accounts_.erase(found);
  }
  if (was_full && !full()) {
    SettleConnection();
    for (auto& [other, account] : accounts_) {
      Settle(other, account);
    }
  }
}

}  // namespace kvcast::moqt
