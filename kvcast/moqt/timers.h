#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "kvcast/base/time.h"
#include "kvcast/moqt/event.h"

namespace kvcast::moqt {

// Never past the end of time, whatever a peer says.
inline Instant After(Instant now, uint64_t milliseconds) {
  constexpr uint64_t kYear = 1000ull * 3600 * 24 * 365;
  return now + std::chrono::milliseconds(milliseconds < kYear ? milliseconds : kYear);
}

// When which request wants to be called.
class Timers {
 public:
  enum class Kind : uint8_t { kGoAway, kDelivery, kJoin, kTrackEnd };
  struct Key {
    RequestId request = 0;
    Kind kind = Kind::kGoAway;

    friend auto operator<=>(const Key&, const Key&) = default;
  };

  // Replaces what was set for the key; absent clears it.
  void Set(const Key& key, std::optional<Instant> at) {
    if (const auto found = by_key_.find(key); found != by_key_.end()) {
      by_time_.erase({found->second, key});
      by_key_.erase(found);
    }
    if (at) {
      by_key_[key] = *at;
      by_time_.insert({*at, key});
    }
  }
  std::optional<Instant> next() const {
    return by_time_.empty() ? std::nullopt : std::optional(by_time_.begin()->first);
  }
  // One that is due, which is cleared.
  std::optional<Key> TakeDue(Instant now) {
    if (by_time_.empty() || by_time_.begin()->first > now) {
      return std::nullopt;
    }
    const Key key = by_time_.begin()->second;
    Set(key, std::nullopt);
    return key;
  }

 private:
  std::map<Key, Instant> by_key_;
  std::set<std::pair<Instant, Key>> by_time_;
};

}  // namespace kvcast::moqt
