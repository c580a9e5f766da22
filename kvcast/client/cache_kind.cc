#include "kvcast/client/cache_kind.h"

#include <string>

namespace kvcast {

CacheKind::CacheKind(const ModelScope& scope, Rung rung, const Slice& slice)
    : TrackKind(scope, std::string(ToString(rung)) + slice.Suffix()), rung_(rung), slice_(slice) {}

CacheTrack CacheKind::TrackOf(const BlockHash& prefix, const Generation& generation) const {
  return CacheTrack{scope(), prefix, generation, rung_, slice_};
}

}  // namespace kvcast
