#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>

#include "kvcast/base/time.h"
#include "kvcast/relay/audience.h"

namespace kvcast::relay {

// Who has taken nothing, and since when. It is looked through now and then, not at every packet: a
// request is noticed at most a look later than its patience.
class StallBook {
 public:
  // Whether it is time to look, which it is only while something waits for somebody.
  bool IsTime(Instant now) const { return next_ && now >= *next_; }
  std::optional<Instant> next() const { return next_; }
  // Something waits: it is to be looked at after this.
  void Expect(Instant now, Duration patience) {
    next_ = std::min(next_.value_or(Instant::max()), now + patience / 4);
  }

  // Nothing waits for anybody.
  void Rest() {
    known_.clear();
    next_.reset();
  }

  void BeginLook() { seen_.clear(); }
  // True if nothing of the request has been sent for as long as that. `progress` is a number that
  // is another one whenever something was.
  bool Look(SubscriberId id, uint64_t progress, Instant now, Duration patience) {
    const auto known = known_.find(id);
    const Instant since =
        known != known_.end() && known->second.progress == progress ? known->second.since : now;
    seen_[id] = {progress, since};
    return now - since >= patience;
  }
  void EndLook() {
    known_.swap(seen_);
    seen_.clear();
    next_.reset();
  }

 private:
  struct Seen {
    uint64_t progress = 0;
    Instant since;
  };

  std::map<SubscriberId, Seen> known_;
  std::map<SubscriberId, Seen> seen_;
  std::optional<Instant> next_;
};

}  // namespace kvcast::relay
