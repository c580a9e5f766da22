#pragma once

#include <vector>

#include "kvcast/codec/track_format.h"

namespace kvcast {

// The constants of all rungs that have any, for one model or one cache.
struct RungConstants {
  std::vector<float> fp8;             // A scale per layer, plane and head.
  std::vector<float> fp4;             // A scale per layer and plane.
  std::vector<ExponentTable> tables;  // Of the lossless rungs, per layer and plane.

  // Those of a slice. REQUIRES: constants of `layers`, of which the slice is one.
  RungConstants Sliced(std::span<const LayerShape> layers, const Slice& slice) const;

  // The format of a rung for blocks of a shape, which is the slice's. Invalid: too many constants
  // for one track. REQUIRES: the rung's constants, of that shape.
  Result<TrackFormat> FormatOf(Rung rung, HalfType type, const BlockShape& shape,
                               const Slice& slice) const;
};

}  // namespace kvcast
