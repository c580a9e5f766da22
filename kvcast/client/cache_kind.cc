#include "kvcast/client/cache_kind.h"

#include <algorithm>
#include <span>

namespace kvcast {
namespace {

constexpr size_t kTrackFields = 4;

}  // namespace

CacheKind::CacheKind(const ModelScope& scope, Rung rung, const Slice& slice)
    : scope_(scope),
      rung_(rung),
      slice_(slice),
      space_(scope.Namespace()),
      name_(std::string(ToString(rung)) + slice.Suffix()) {}

CacheTrack CacheKind::TrackOf(const BlockHash& prefix, const Generation& generation) const {
  return CacheTrack{scope_, prefix, generation, rung_, slice_};
}

bool CacheKind::Includes(const TrackName& track) const {
  return track.name() == name_ && track.space().field_count() == kTrackFields &&
         space_.IsPrefixOf(track.space());
}

bool CacheKind::IsHeld(const PrefixIndex& index, const BlockHash& block) const {
  const PrefixMatch match = index.LongestMatch(std::span(&block, 1));
  return std::ranges::any_of(index.Sources(match, 0),
                             [&](const BlockSource& source) { return Includes(source.track); });
}

}  // namespace kvcast
