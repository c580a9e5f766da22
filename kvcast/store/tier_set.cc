#include "kvcast/store/tier_set.h"

#include <algorithm>
#include <string>
#include <utility>

#include "kvcast/base/check_sum.h"

namespace kvcast {
namespace {

template <typename Better>
std::optional<uint64_t> Nearest(std::optional<uint64_t> a, std::optional<uint64_t> b,
                                Better better) {
  return a && (!b || better(*a, *b)) ? a : b;
}

}  // namespace

void TierSet::Add(TierKind kind, std::unique_ptr<LowerTier> tier,
                  std::unique_ptr<Admission> admission) {
  if (admission == nullptr) {
    admission = std::make_unique<AdmitAll>();
  }
  tiers_.push_back({kind, std::move(tier), std::move(admission)});
}

bool TierSet::Has(TierKind kind) const {
  return std::ranges::any_of(tiers_, [&](const Entry& entry) { return entry.kind == kind; });
}

std::vector<size_t> TierSet::HomesOf(const TrackName& track, TierKind kind) const {
  std::vector<size_t> homes;
  for (size_t tier = 0; tier < tiers_.size(); ++tier) {
    if (tiers_[tier].kind == kind) {
      homes.push_back(tier);
    }
  }
  if (homes.size() > 1) {
    const size_t first = Crc32c(AsBytes(track.Render())) % homes.size();
    std::rotate(homes.begin(), homes.begin() + static_cast<ptrdiff_t>(first), homes.end());
    std::stable_partition(homes.begin(), homes.end(),
                          [&](size_t tier) { return at(tier).FindTrack(track) != nullptr; });
  }
  return homes;
}

std::vector<size_t> TierSet::HomesOf(const TrackName& track, uint64_t group, TierKind kind) const {
  std::vector<size_t> homes = HomesOf(track, kind);
  if (homes.size() > 1) {
    const auto has =
        std::ranges::find_if(homes, [&](size_t tier) { return HasOrExpects(tier, track, group); });
    homes = has == homes.end() ? homes : std::vector<size_t>{*has};
  }
  return homes;
}

bool TierSet::HasOrExpects(size_t tier, const TrackName& track, uint64_t group) const {
  const LowerTier& asked = at(tier);
  return asked.ready() && (asked.FindGroup(track, group) || asked.Expects(track, group));
}

bool TierSet::Expects(const TrackName& track, uint64_t group) const {
  return std::ranges::any_of(tiers_, [&](const Entry& entry) {
    return entry.tier->ready() && entry.tier->Expects(track, group);
  });
}

std::optional<size_t> TierSet::Holder(const TrackName& track, Location location,
                                      size_t from) const {
  for (size_t tier = from; tier < tiers_.size(); ++tier) {
    if (at(tier).ready() && at(tier).PresenceOf(track, location) == Presence::kExists) {
      return tier;
    }
  }
  return std::nullopt;
}

Presence TierSet::PresenceOf(const TrackName& track, Location location) const {
  Presence found = Presence::kUnknown;
  for (const Entry& entry : tiers_) {
    const Presence here =
        entry.tier->ready() ? entry.tier->PresenceOf(track, location) : Presence::kUnknown;
    if (here == Presence::kExists) {
      return here;
    }
    found = here == Presence::kGone ? here : found;
  }
  return found;
}

bool TierSet::CanRead(const TrackName& track, Location location) const {
  return std::ranges::any_of(tiers_, [&](const Entry& entry) {
    return entry.tier->ready() && !entry.tier->away() &&
           entry.tier->PresenceOf(track, location) == Presence::kExists &&
           !entry.tier->Doubts(track, {location, location});
  });
}

bool TierSet::Knows(const TrackName& track) const {
  return std::ranges::any_of(tiers_, [&](const Entry& entry) {
    return entry.tier->ready() && entry.tier->FindTrack(track) != nullptr;
  });
}

void TierSet::AddFacts(const TrackName& track, std::optional<TrackFacts>& facts) const {
  for (const Entry& entry : tiers_) {
    const TrackFacts* more = entry.tier->ready() ? entry.tier->FindTrack(track) : nullptr;
    if (more != nullptr && !facts) {
      facts = *more;
    } else if (more != nullptr) {
      facts->Add(*more);
    }
  }
}

std::optional<GroupFacts> TierSet::FindGroup(const TrackName& track, uint64_t group) const {
  std::optional<GroupFacts> best;
  std::optional<uint64_t> end;
  for (const Entry& entry : tiers_) {
    const auto found =
        entry.tier->ready() ? entry.tier->FindGroup(track, group) : std::optional<GroupFacts>();
    if (!found) {
      continue;
    }
    if (found->whole()) {
      return found;
    }
    end = found->end ? found->end : end;
    if (!best || found->object_count > best->object_count) {
      best = found;
    }
  }
  if (best) {
    best->end = end;
  }
  return best;
}

bool TierSet::HasWhole(const TrackName& track, uint64_t group, TierKind kind) const {
  return std::ranges::any_of(tiers_, [&](const Entry& entry) {
    if (!entry.tier->ready() || entry.kind != kind) {
      return false;
    }
    const std::optional<GroupFacts> found = entry.tier->FindGroup(track, group);
    return found && found->whole() &&
           !entry.tier->Doubts(track, LocationRange::Groups(group, group));
  });
}

bool TierSet::HasWritten(const TrackName& track, uint64_t group, Durability level) const {
  return std::ranges::any_of(tiers_, [&](const Entry& entry) {
    if (!entry.tier->ready() || LevelOf(entry.kind) < level) {
      return false;
    }
    const std::optional<GroupFacts> found = entry.tier->FindGroup(track, group);
    return found && found->whole() &&
           !entry.tier->Doubts(track, LocationRange::Groups(group, group)) &&
           entry.tier->HasWritten(track, group) &&
           (found->absent_count == 0 || entry.tier->HasWritten(track, std::nullopt));
  });
}

std::optional<Digest> TierSet::KeyOf(const TrackName& track, uint64_t group) const {
  std::optional<Digest> key;
  for (const Entry& entry : tiers_) {
    key = key || !entry.tier->ready() ? key : entry.tier->KeyOf(track, group);
  }
  return key;
}

std::optional<uint64_t> TierSet::GroupFrom(const TrackName& track, uint64_t group) const {
  std::optional<uint64_t> nearest;
  for (const Entry& entry : tiers_) {
    if (entry.tier->ready()) {
      nearest = Nearest(nearest, entry.tier->GroupFrom(track, group), std::less<>());
    }
  }
  return nearest;
}

std::optional<uint64_t> TierSet::GroupUpTo(const TrackName& track, uint64_t group) const {
  std::optional<uint64_t> nearest;
  for (const Entry& entry : tiers_) {
    if (entry.tier->ready()) {
      nearest = Nearest(nearest, entry.tier->GroupUpTo(track, group), std::greater<>());
    }
  }
  return nearest;
}

std::optional<uint64_t> TierSet::AbsentUpTo(const TrackName& track, Location location) const {
  std::optional<uint64_t> last;
  for (const Entry& entry : tiers_) {
    if (entry.tier->ready()) {
      last = std::max(last, entry.tier->AbsentUpTo(track, location));
    }
  }
  return last;
}

std::optional<uint64_t> TierSet::ObjectFrom(const TrackName& track, Location location) const {
  std::optional<uint64_t> nearest;
  for (const Entry& entry : tiers_) {
    if (entry.tier->ready()) {
      nearest = Nearest(nearest, entry.tier->ObjectFrom(track, location), std::less<>());
    }
  }
  return nearest;
}

}  // namespace kvcast
