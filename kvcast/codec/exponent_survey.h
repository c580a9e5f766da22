#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "kvcast/codec/half_type.h"
#include "kvcast/codec/track_format.h"
#include "kvcast/kv/block_view.h"

namespace kvcast {

// How often each exponent stands in the planes of one layer, keys and values.
using LayerExponents = std::array<std::array<uint64_t, 256>, 2>;

// Of so many tokens of a block. REQUIRES: a layer and tokens of it, with values of that type.
LayerExponents CountExponents(const BlockView& block, HalfType type, size_t layer,
                              uint32_t first_token, uint32_t tokens);

// Looks at blocks, part by part, for the only constants that the lossless rungs have. It finds the
// same as a Survey, which looks for those of all rungs, in a quarter of the time.
//
// The same parts give the same constants, in whatever order they were added.
class ExponentSurvey {
 public:
  ExponentSurvey(const BlockShape& shape, HalfType type, const Slice& slice = {});

  // REQUIRES: of a layer of this shape.
  void Add(size_t layer, const LayerExponents& counts);

  // REQUIRES: a lossless rung.
  Result<TrackFormat> FormatOf(Rung rung) const;

 private:
  const BlockShape shape_;
  const HalfType type_;
  const Slice slice_;
  std::vector<LayerExponents> layers_;
};

}  // namespace kvcast
