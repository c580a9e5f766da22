#include "kvcast/relay/identity_book.h"

namespace kvcast::relay {

IdentityBook::Account& IdentityBook::Join(const std::string& name) {
  const auto [found, is_new] = accounts_.try_emplace(name, *limits_);
  Account& account = found->second;
  if (!is_new && account.sessions == 0) {
    --left_;
  }
  ++account.sessions;
  return account;
}

void IdentityBook::Leave(const std::string& name, Instant now) {
  const auto found = accounts_.find(name);
  if (found == accounts_.end() || --found->second.sessions > 0) {
    return;
  }
  if (found->second.requests.full(now) && found->second.useless.full(now)) {
    accounts_.erase(found);
    return;
  }
  if (++left_ <= kLeftMax) {
    return;
  }
  left_ -= std::erase_if(accounts_, [&](auto& each) {
    return each.second.sessions == 0 && each.second.requests.full(now) &&
           each.second.useless.full(now);
  });
}

void IdentityBook::Move(Account& account, Held& from, const Held& to) {
  account.held.subscriptions += to.subscriptions - from.subscriptions;
  account.held.fetches += to.fetches - from.fetches;
  account.held.namespaces += to.namespaces - from.namespaces;
  account.held.publications += to.publications - from.publications;
  account.held.questions += to.questions - from.questions;
  from = to;
}

}  // namespace kvcast::relay
