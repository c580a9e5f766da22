#pragma once

#include <string>
#include <string_view>

#include "kvcast/kv/cache_track.h"
#include "kvcast/object/track_name.h"

namespace kvcast {

// Which of all tracks are meant: those of one tenant and model that have one name. What an index
// says about others is none of its business, whoever listed it.
class TrackKind {
 public:
  TrackKind(const ModelScope& scope, std::string_view name);

  const ModelScope& scope() const { return scope_; }

  // The track on which a prefix of this kind is published.
  TrackName NameOf(const BlockHash& prefix, const Generation& generation) const {
    return TrackNameOf(scope_, prefix, generation, name_);
  }
  bool Includes(const TrackName& track) const;

 private:
  ModelScope scope_;
  TrackNamespace space_;
  std::string name_;
};

}  // namespace kvcast
