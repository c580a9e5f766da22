#include "kvcast/moqt/credit_book.h"

#include <algorithm>
#include <utility>

#include "kvcast/base/check.h"

namespace kvcast::moqt {
namespace {

// How many times what stops a stream's credit is read of it all the same. A user that takes after
// every batch of packets comes nowhere near, so that nothing has to be kept for later.
constexpr size_t kReadAhead = 4;

// Objects that are favoured at a time.
constexpr size_t kFavouritesMax = 64;

}  // namespace

bool CreditBook::HasRoom(const Account& account, size_t queued_max) const {
  if (account.taker == nullptr) {
    return true;
  }
  return !full() && (account.taker->queued == 0 ||
                     (!crowded() && !received_->scarce() && account.queued < queued_max));
}

bool CreditBook::MayGoOn(const Account& account) const {
  return account.open && !account.waits && account.unread == 0 &&
         HasRoom(account, limits_->stream_queue_bytes);
}

bool CreditBook::MayCredit(const Account& account) const {
  return MayGoOn(account) && (!too_much_begun() || account.held == 0 || account.favoured);
}

void CreditBook::Settle(StreamId stream, Account& account) {
  if (account.uncredited > 0 && MayCredit(account)) {
    outbox_->Do(StreamCredit{stream, std::exchange(account.uncredited, 0)});
  }
  const bool uncredited = account.open && !account.waits && account.uncredited > 0;
  SetStopped(stream, account, account.taker != nullptr && (account.unread > 0 || uncredited));
}

void CreditBook::SetStopped(StreamId stream, Account& account, bool stopped) {
  if (account.stopped == stopped) {
    return;
  }
  account.stopped = stopped;
  for (std::set<StreamId>* list : {&account.taker->stopped, &stopped_}) {
    stopped ? void(list->insert(stream)) : void(list->erase(stream));
  }
}

void CreditBook::Attach(StreamId stream, RequestId request) {
  Account& account = accounts_[stream];
  KVCAST_CHECK(account.taker == nullptr);
  account.request = request;
  account.taker = &takers_[request];
  ++account.taker->streams;
}

void CreditBook::Arrived(StreamId stream, size_t bytes) {
  Account& account = accounts_[stream];
  account.uncredited += bytes;
  Settle(stream, account);
  if (bytes > 0) {
    outbox_->Do(ConnectionCredit{bytes});
  }
}

void CreditBook::Hold(StreamId stream) { accounts_[stream].waits = true; }

void CreditBook::Release(StreamId stream) {
  Account& account = accounts_[stream];
  account.waits = false;
  Settle(stream, account);
}

void CreditBook::Close(StreamId stream) {
  const auto found = accounts_.find(stream);
  if (found == accounts_.end()) {
    return;
  }
  found->second.open = false;
  Unread(stream, 0);
  Begun(stream, 0, 0);
  Settle(stream, found->second);
  if (found->second.queued == 0) {
    Erase(found);
  }
}

void CreditBook::Erase(Accounts::iterator account) {
  const std::optional<RequestId> request = account->second.request;
  accounts_.erase(account);
  if (request) {
    --takers_[*request].streams;
    EraseIfIdle(*request);
  }
}

void CreditBook::EraseIfIdle(RequestId request) {
  const auto taker = takers_.find(request);
  if (taker != takers_.end() && taker->second.streams == 0 && taker->second.queued == 0) {
    takers_.erase(taker);
  }
}

std::optional<RequestId> CreditBook::largest() const {
  const auto found =
      std::ranges::max_element(takers_, {}, [](const auto& taker) { return taker.second.queued; });
  const bool any = found != takers_.end() && found->second.queued > 0;
  return any ? std::optional(found->first) : std::nullopt;
}

CreditBook::Heap CreditBook::LargestHeap() const {
  Heap most;
  for (const auto& [stream, account] : accounts_) {
    if (account.open && account.held + account.unread > most.bytes) {
      most = {stream, std::nullopt, account.held + account.unread};
    }
  }
  for (const auto& [request, taker] : takers_) {
    if (taker.queued > most.bytes) {
      most = {std::nullopt, request, taker.queued};
    }
  }
  return most;
}

bool CreditBook::MayRead(StreamId stream) const {
  const auto found = accounts_.find(stream);
  return found == accounts_.end() ||
         HasRoom(found->second, kReadAhead * limits_->stream_queue_bytes);
}

void CreditBook::NoteIfCleared(bool was_crowded) {
  if (was_crowded && !crowded()) {
    has_room_ = true;
    ++times_cleared_;
  }
}

void CreditBook::Unread(StreamId stream, size_t bytes) {
  const auto found = accounts_.find(stream);
  if (found == accounts_.end() || found->second.unread == bytes) {
    return;
  }
  const bool was_crowded = crowded();
  unread_bytes_ += bytes - found->second.unread;
  received_->Move(found->second.unread, bytes);
  found->second.unread = bytes;
  NoteIfCleared(was_crowded);
  Settle(stream, found->second);
}

void CreditBook::Begun(StreamId stream, size_t held, uint64_t missing) {
  const auto found = accounts_.find(stream);
  if (found == accounts_.end()) {
    return;
  }
  Account& account = found->second;
  if (held > 0 && account.held == 0) {
    begun_.insert(stream);
  } else if (held == 0 && account.held > 0) {
    begun_.erase(stream);
  }
  const bool has_ended = account.favoured && (held == 0 || missing > account.missing);
  account.favoured = account.favoured && !has_ended;
  begun_bytes_ += held - account.held;
  account.held = held;
  account.missing = missing;
  // Others that share the room may have changed it, too.
  const bool was_too_much = std::exchange(was_too_much_begun_, too_much_begun());
  const bool none_favoured =
      held > 0 && too_much_begun() && favourites_.empty() && MayGoOn(account);
  if (has_ended || none_favoured || (was_too_much && !too_much_begun())) {
    Favour();
  }
}

void CreditBook::Favour() {
  const uint64_t missing_max = std::min<uint64_t>(limits_->object_bytes_max, received_->left());
  uint64_t missing = 0;
  std::erase_if(favourites_, [&](StreamId stream) {
    const auto found = accounts_.find(stream);
    if (found == accounts_.end()) {
      return true;
    }
    Account& account = found->second;
    account.favoured = account.favoured && too_much_begun() && MayGoOn(account);
    missing += account.favoured ? account.missing : 0;
    return !account.favoured;
  });
  if (!too_much_begun()) {
    has_ground_ = true;
    return;
  }
  std::vector<std::pair<uint64_t, StreamId>> nearest;
  for (const StreamId stream : begun_) {
    const Account& account = accounts_.at(stream);
    if (!account.favoured && MayGoOn(account)) {
      nearest.emplace_back(account.missing, stream);
    }
  }
  std::ranges::sort(nearest);
  for (const auto& [bytes, stream] : nearest) {
    if (favourites_.size() >= kFavouritesMax ||
        (!favourites_.empty() && missing + bytes > missing_max)) {
      return;
    }
    Account& account = accounts_.at(stream);
    account.favoured = true;
    favourites_.push_back(stream);
    missing += bytes;
    Settle(stream, account);
  }
}

void CreditBook::Queued(RequestId request, StreamId stream, size_t bytes) {
  const auto [found, is_new] = accounts_.try_emplace(stream);
  found->second.open = found->second.open && !is_new;
  found->second.queued += bytes;
  takers_[request].queued += bytes;
  queued_bytes_ += bytes;
  received_->Move(0, bytes);
  const auto has_stopped = [this](StreamId favourite) {
    const auto other = accounts_.find(favourite);
    return other == accounts_.end() || !MayGoOn(other->second);
  };
  if (std::ranges::any_of(favourites_, has_stopped)) {
    Favour();
  }
}

void CreditBook::Taken(RequestId request, StreamId stream, size_t bytes) {
  const auto found = accounts_.find(stream);
  const auto taker = takers_.find(request);
  KVCAST_CHECK(found != accounts_.end() && found->second.queued >= bytes);
  KVCAST_CHECK(taker != takers_.end() && taker->second.queued >= bytes);
  const bool was_crowded = crowded();
  const bool was_full = full();
  found->second.queued -= bytes;
  taker->second.queued -= bytes;
  queued_bytes_ -= bytes;
  received_->Move(bytes, 0);
  NoteIfCleared(was_crowded);
  has_ground_ = has_ground_ || (was_full && !full()) || (has_taken_ && *has_taken_ != request);
  if (!taker->second.stopped.empty()) {
    has_taken_ = request;
  }
  Settle(stream, found->second);
  if (!found->second.open && found->second.queued == 0) {
    Erase(found);
  }
  EraseIfIdle(request);
  if (too_much_begun() && favourites_.empty()) {
    Favour();
  }
}

std::optional<StreamId> CreditBook::ResumeAmong(const std::set<StreamId>& stopped,
                                                bool until_crowded) {
  for (auto next = stopped.begin(); next != stopped.end();) {
    if (until_crowded && crowded()) {
      return std::nullopt;
    }
    const StreamId stream = *next++;
    Account& account = accounts_.at(stream);
    if (account.unread > 0 && MayRead(stream)) {
      return stream;
    }
    Settle(stream, account);
  }
  return std::nullopt;
}

std::optional<StreamId> CreditBook::Resume() {
  if (has_taken_) {
    const auto taker = takers_.find(*has_taken_);
    if (taker != takers_.end() && !full()) {
      // While the session is crowded, the first one that is read stops the others.
      const auto stream = ResumeAmong(taker->second.stopped, taker->second.queued > 0);
      if (stream) {
        return stream;
      }
    }
    has_taken_.reset();
  }
  if (has_room_ || has_ground_) {
    if (const auto stream = ResumeAmong(stopped_, !has_ground_)) {
      return stream;
    }
    has_room_ = has_ground_ = false;
  }
  return std::nullopt;
}

}  // namespace kvcast::moqt
