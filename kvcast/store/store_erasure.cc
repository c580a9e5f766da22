// How a store gives up what somebody wants gone, everywhere and for good.
#include <algorithm>
#include <set>
#include <utility>

#include "kvcast/store/store.h"

namespace kvcast {
namespace {

// More wishes than this at a time are forgotten, the oldest first: by then nothing is under way
// that they would hold back.
constexpr size_t kBarredMax = 1024;

using Unremoved = std::set<std::pair<size_t, std::optional<uint64_t>>>;

}  // namespace

std::vector<TrackName> Store::Tracks(const std::optional<TrackName>& after,
                                     size_t count_max) const {
  std::set<TrackName> names;
  const auto add = [&](std::vector<TrackName> some) {
    names.insert(std::make_move_iterator(some.begin()), std::make_move_iterator(some.end()));
  };
  add(ram_.Tracks(after, count_max));
  for (size_t tier = 0; tier < tiers_.size(); ++tier) {
    if (tiers_.at(tier).ready()) {
      add(tiers_.at(tier).Tracks(after, count_max));
    }
  }
  for (auto left = after ? unremoved_.upper_bound(*after) : unremoved_.begin();
       left != unremoved_.end(); ++left) {
    names.insert(left->first);
  }
  // Beyond what one of them was cut at, another may have left some out.
  std::vector<TrackName> first(names.begin(), names.end());
  first.resize(std::min(first.size(), count_max), *TrackName::Of({}, ""));
  return first;
}

Store::Erased Store::Erase(const TrackName& track, std::optional<uint64_t> group, Instant now) {
  Erased erased;
  tiers_touched_ = true;
  const auto drop = [&](uint64_t number) {
    ram_.Remove(track, number);
    demotions_.Drop(track, number);
  };
  if (group) {
    drop(*group);
  } else {
    for (auto next = ram_.GroupFrom(track, 0); next; next = ram_.GroupFrom(track, 0)) {
      drop(*next);
    }
    for (auto next = demotions_.GroupFrom(track, 0); next; next = demotions_.GroupFrom(track, 0)) {
      drop(*next);
    }
    warming_.Drop(track);
    untold_.erase(track);
    (void)ram_.Forget(track);
  }
  desk_.Drop(track);
  const auto owed = unremoved_.extract(track);
  for (size_t tier = 0; tier < tiers_.size(); ++tier) {
    LowerTier& from = tiers_.at(tier);
    if (!from.ready()) {
      erased.refused = true;
      continue;
    }
    // A track goes also where nothing is known of it: a write that failed may have arrived all the
    // same, and the next start would find it.
    std::set<std::optional<uint64_t>> wanted;
    if (!group || tiers_.HasOrExpects(tier, track, *group)) {
      wanted.insert(group);
    }
    // What could not be written before is written again, though nothing is known of it here.
    for (const auto& [at, what] : owed.empty() ? Unremoved() : owed.mapped()) {
      if (at == tier) {
        wanted.insert(what);
      }
    }
    for (const std::optional<uint64_t>& what : wanted) {
      const Result<TierTicket> asked = from.Remove(track, what, now);
      if (asked.ok()) {
        erased.tickets.push_back(Promise(tier, *asked, 0, track, now, what));
      } else {
        unremoved_[track].insert({tier, what});
        erased.refused = true;
      }
    }
  }
  return erased;
}

void Store::Bar(std::function<bool(const TrackName&)> covers, Instant now) {
  barred_.emplace_back(std::move(covers), WallAt(now));
  if (barred_.size() > kBarredMax) {
    barred_.pop_front();
  }
}

bool Store::IsBarred(const TrackName& track, uint64_t received_us) const {
  return std::ranges::any_of(
      barred_, [&](const auto& each) { return received_us <= each.second && each.first(track); });
}

}  // namespace kvcast
