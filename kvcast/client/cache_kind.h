#pragma once

#include "kvcast/client/track_kind.h"
#include "kvcast/kv/cache_track.h"
#include "kvcast/kv/rung.h"
#include "kvcast/kv/slice.h"

namespace kvcast {

// Which of all caches are meant: those of its model, at one rung, of one slice.
class CacheKind : public TrackKind {
 public:
  CacheKind(const ModelScope& scope, Rung rung, const Slice& slice = {});

  Rung rung() const { return rung_; }
  const Slice& slice() const { return slice_; }

  // The same model and slice at another rung.
  CacheKind At(Rung rung) const { return CacheKind(scope(), rung, slice_); }

  // The track on which a prefix of this kind is published.
  CacheTrack TrackOf(const BlockHash& prefix, const Generation& generation) const;

 private:
  Rung rung_;
  Slice slice_;
};

}  // namespace kvcast
