#pragma once

#include <string>

#include "kvcast/kv/cache_track.h"
#include "kvcast/kv/prefix_index.h"
#include "kvcast/kv/rung.h"
#include "kvcast/kv/slice.h"
#include "kvcast/object/track_name.h"

namespace kvcast {

// Which of all caches are meant: those of its model, at one rung, of one slice.
// What an index says about others is none of its business, whoever listed it.
class CacheKind {
 public:
  CacheKind(const ModelScope& scope, Rung rung, const Slice& slice = {});

  const ModelScope& scope() const { return scope_; }
  Rung rung() const { return rung_; }
  const Slice& slice() const { return slice_; }

  // The same model and slice at another rung.
  CacheKind At(Rung rung) const { return CacheKind(scope_, rung, slice_); }

  // The track on which a prefix of this kind is published.
  CacheTrack TrackOf(const BlockHash& prefix, const Generation& generation) const;
  bool Includes(const TrackName& track) const;
  // Whether somebody whose catalog the index follows holds the block as this kind.
  bool IsHeld(const PrefixIndex& index, const BlockHash& block) const;

 private:
  ModelScope scope_;
  Rung rung_;
  Slice slice_;
  TrackNamespace space_;
  std::string name_;
};

}  // namespace kvcast
