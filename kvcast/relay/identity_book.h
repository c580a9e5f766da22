#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <string>

#include "kvcast/moqt/receive_room.h"
#include "kvcast/relay/limits.h"
#include "kvcast/relay/rate.h"

namespace kvcast::relay {

// What each identity has asked for, over all its sessions: whoever opens more of them gets no more.
class IdentityBook {
 public:
  // What stands at a time.
  struct Held {
    size_t subscriptions = 0;
    size_t fetches = 0;
    size_t namespaces = 0;
    size_t publications = 0;
    size_t questions = 0;  // That wait for somebody upstream.

    size_t all() const { return subscriptions + fetches + namespaces + publications + questions; }
  };
  struct Account {
    explicit Account(const Limits& limits)
        : requests(limits.requests_per_second, limits.requests_burst),
          useless(limits.useless_per_second, limits.useless_burst) {}

    Rate requests;
    Rate useless;
    Held held{};
    // For what comes from it.
    std::shared_ptr<moqt::ReceiveRoom> room = std::make_shared<moqt::ReceiveRoom>();
    size_t sessions = 0;
    bool is_relay = false;
  };

  explicit IdentityBook(const Limits& limits) : limits_(&limits) {}

  // One more session; the account stays in its place until its last has left. An account is not
  // forgotten before its rates have recovered, so that coming back is no way around them.
  Account& Join(const std::string& name);
  void Leave(const std::string& name, Instant now);
  // How many sessions it has.
  size_t SessionsOf(const std::string& name) const {
    const auto found = accounts_.find(name);
    return found == accounts_.end() ? 0 : found->second.sessions;
  }
  // The limits are others now, of accounts that there are, too.
  void OnLimits(Instant now) {
    for (auto& [name, account] : accounts_) {
      account.requests.Set(limits_->requests_per_second, limits_->requests_burst, now);
      account.useless.Set(limits_->useless_per_second, limits_->useless_burst, now);
    }
  }
  // One session of it holds this now, instead of that.
  static void Move(Account& account, Held& from, const Held& to);
  size_t size() const { return accounts_.size(); }

 private:
  static constexpr size_t kLeftMax = 1024;  // Looked through when more have no session.

  const Limits* limits_;
  std::map<std::string, Account> accounts_;
  size_t left_ = 0;  // Accounts without a session.
};

}  // namespace kvcast::relay
