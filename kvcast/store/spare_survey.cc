#include "kvcast/store/spare_survey.h"

#include <vector>

namespace kvcast {
namespace {

// So many groups are looked at in one go, so that nobody waits long for the loop.
constexpr size_t kLooksAtOnce = 512;

}  // namespace

void SpareSurvey::Look(const TrackName& track, uint64_t group) {
  if (!tiers_->Has(TierKind::kBucket)) {
    return;
  }
  std::optional<bool> spare;
  for (size_t tier = 0; tier < tiers_->size(); ++tier) {
    LowerTier& disk = tiers_->at(tier);
    if (tiers_->kind(tier) == TierKind::kDisk && disk.ready() && disk.FindGroup(track, group)) {
      spare = spare ? spare : tiers_->HasWritten(track, group, Durability::kBucket);
      disk.SetSpare(track, group, *spare);
    }
  }
}

void SpareSurvey::Restart(Instant now) {
  if (tiers_->Has(TierKind::kBucket)) {
    tier_ = 0;
    after_.reset();
    again_ = now;
  }
}

void SpareSurvey::GoOn(Instant now) {
  if (!again_ || now < *again_) {
    return;
  }
  const bool is_disk = tiers_->kind(tier_) == TierKind::kDisk && tiers_->at(tier_).ready();
  const std::vector<ListedGroup> groups =
      is_disk ? tiers_->at(tier_).Groups(after_, kLooksAtOnce) : std::vector<ListedGroup>();
  for (const ListedGroup& group : groups) {
    Look(group.track, group.group);
  }
  after_.reset();
  if (!groups.empty()) {
    after_ = EvictedGroup{groups.back().track, groups.back().group};
  } else if (++tier_ == tiers_->size()) {
    again_.reset();
  }
}

}  // namespace kvcast
