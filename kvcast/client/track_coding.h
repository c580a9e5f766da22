#pragma once

#include <memory>

#include "kvcast/codec/codec.h"

namespace kvcast {

// By what a track is coded, once it was chosen by the first blocks that were ready. Who publishes a
// prompt again under the same generation, at another node, brings it along: it may suit what was
// looked at then, and bytes under a name never change.
struct TrackCoding {
  std::shared_ptr<const Codec> codec;  // Null until it is chosen.
};

}  // namespace kvcast
