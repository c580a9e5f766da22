#include "kvcast/host/track_text.h"

#include "kvcast/base/hex.h"
#include "kvcast/kv/cache_track.h"

namespace kvcast {

std::string GenerationOf(const TrackName& track) {
  const Result<CacheTrack> parsed = CacheTrack::Parse(track);
  return parsed.ok() ? ToHex(parsed->generation) : Printable(track.Render());
}

}  // namespace kvcast
