#pragma once

#include <string>

#include "kvcast/object/track_name.h"

namespace kvcast {

// By which act of publishing a cache's track came to be, for people; the whole name of a track that
// is none.
std::string GenerationOf(const TrackName& track);

}  // namespace kvcast
