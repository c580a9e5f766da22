#include "kvcast/moqt/credit_book.h"

#include <utility>

#include "kvcast/base/check.h"

namespace kvcast::moqt {

void CreditBook::Settle(StreamId stream, Account& account) {
  const bool must_wait =
      account.queued >= limits_->stream_queue_bytes || (account.queued > 0 && crowded());
  if (account.uncredited > 0 && account.open && !account.held && !must_wait) {
    outbox_->Do(StreamCredit{stream, std::exchange(account.uncredited, 0)});
  }
}

void CreditBook::Arrived(StreamId stream, size_t bytes) {
  Account& account = accounts_[stream];
  account.uncredited += bytes;
  Settle(stream, account);
  if (bytes > 0) {
    outbox_->Do(ConnectionCredit{bytes});
  }
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
  const bool was_crowded = crowded();
  found->second.queued -= bytes;
  queued_bytes_ -= bytes;
  Settle(stream, found->second);
  if (!found->second.open && found->second.queued == 0) {
    accounts_.erase(found);
  }
  if (was_crowded && !crowded()) {
    ++times_cleared_;
    for (auto& [other, account] : accounts_) {
      Settle(other, account);
    }
  }
}

}  // namespace kvcast::moqt
