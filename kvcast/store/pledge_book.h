#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>

#include "kvcast/base/time.h"
#include "kvcast/object/durability.h"
#include "kvcast/store/lower_tier.h"
#include "kvcast/store/store_events.h"

namespace kvcast {

// What tiers were asked to make durable for somebody who waits for that.
class PledgeBook {
 public:
  struct Pledge {
    StoreTicket ticket;
    Durability level;  // That is reached.
    size_t bytes;
    TrackName track;
    Instant since;
    std::optional<std::optional<uint64_t>> removed{};  // Of a removal: the group, or all.
  };

  void Add(size_t tier, TierTicket asked, Pledge pledge);
  // Absent: nobody waits for it, or no longer.
  std::optional<Pledge> Take(size_t tier, TierTicket asked);
  // Of those of a tier that has waited longest, since when; and that one, if it was by then.
  std::optional<Instant> FirstOf(size_t tier) const;
  std::optional<Pledge> TakeFirst(size_t tier, Instant until);

  uint64_t bytes(Durability level) const;
  bool Has(const TrackName& track) const { return tracks_.contains(track); }

 private:
  std::map<std::pair<size_t, TierTicket>, Pledge> pledges_;
  std::map<Durability, uint64_t> bytes_;
  std::map<TrackName, size_t> tracks_;  // How many are under way for each.
};

}  // namespace kvcast
