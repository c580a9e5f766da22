#include "kvcast/client/track_kind.h"

#include <algorithm>
#include <span>

namespace kvcast {
namespace {

constexpr size_t kTrackFields = 4;

}  // namespace

TrackKind::TrackKind(const ModelScope& scope, std::string_view name)
    : scope_(scope), space_(scope.Namespace()), name_(name) {}

bool TrackKind::Includes(const TrackName& track) const {
  return track.name() == name_ && track.space().field_count() == kTrackFields &&
         space_.IsPrefixOf(track.space());
}

bool TrackKind::IsHeld(const PrefixIndex& index, const BlockHash& block) const {
  const PrefixMatch match = index.LongestMatch(std::span(&block, 1));
  return match.Has(0) &&
         std::ranges::any_of(index.Sources(match, 0),
                             [&](const BlockSource& source) { return Includes(source.track); });
}

}  // namespace kvcast
