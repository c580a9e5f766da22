#include "kvcast/relay/forget_follower.h"

#include <algorithm>
#include <utility>

#include "kvcast/relay/grant.h"

namespace kvcast::relay {

bool ForgetFollower::Hold(const std::string& tenant, uint64_t since_us) {
  const auto [found, is_new] = held_since_.emplace(tenant, since_us);
  found->second = std::min(found->second, since_us);
  return is_new;
}

Result<ForgetFollower::Batch> ForgetFollower::OnList(const std::string& upstream,
                                                     const TrackName& track, const Bytes& payload) {
  KVCAST_TRY(const CatalogTrack from, CatalogTrack::ParseForgotten(track));
  const std::string tenant(TenantOf(from.scope));
  if (tenant.empty() || tenant != from.scope.field(1)) {
    return Error(ErrorCode::kMalformed, "This list is of no tenant.");
  }
  KVCAST_TRY(const ForgetList list, ForgetList::Parse(payload));
  Batch batch{{upstream, from.node, tenant}, list.entries().back().at_us, {}};
  const auto heard = heard_.find(batch.source);
  if (heard == heard_.end() && heard_.size() >= kSourcesMax) {
    return Error(ErrorCode::kTooLarge, "Too many lists of what was forgotten.");
  }
  const auto since = held_since_.find(tenant);
  for (const ForgetList::Entry& entry : list.entries()) {
    const bool is_new = heard != heard_.end() ? entry.at_us > heard->second
                                              : since != held_since_.end() &&
                                                    entry.at_us + kClocksApartUs >= since->second;
    if (is_new) {
      batch.scopes.push_back({tenant, entry.model, entry.prefix, {}});
    }
  }
  uint64_t& mark = heard_[batch.source];
  mark = std::max(mark, batch.until_us);
  return batch;
}

void ForgetFollower::OnGone(const Batch& batch) {
  uint64_t& mark = memory_.followed[batch.source];
  changed_ = changed_ || batch.until_us > mark;
  mark = std::max(mark, batch.until_us);
}

const ForgetList& ForgetFollower::Note(const ForgetScope& scope, uint64_t now_us) {
  ForgetList& list = memory_.lists[scope.tenant];
  list.Add(scope.model, scope.prefix, now_us);
  changed_ = true;
  return list;
}

}  // namespace kvcast::relay
