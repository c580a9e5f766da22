#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "kvcast/codec/track_format.h"
#include "kvcast/kv/block_view.h"

namespace kvcast {

// Looks at blocks and says which constants suit them: what a calibration is made of, and what a
// publisher without one takes from the very blocks it publishes.
//
// The same blocks give the same constants on every machine, in whatever order they were added.
class Survey {
 public:
  Survey(const BlockShape& shape, HalfType type, const Slice& slice = {});

  // REQUIRES: a block of this shape with values of this type.
  void Add(const BlockView& block);

  // The format of a rung with its constants. Invalid: too many of them for one track.
  Result<TrackFormat> FormatOf(Rung rung) const;

 private:
  using Histogram = std::array<uint64_t, 256>;
  void AddRow(const std::byte* values, uint32_t size, size_t row, size_t plane);

  const BlockShape shape_;
  const HalfType type_;
  const Slice slice_;
  std::vector<uint16_t> largest_;     // Magnitudes, per layer, plane and head.
  std::vector<Histogram> exponents_;  // Per layer and plane.
};

// The shares of the 15 most frequent exponents, and of the others, in 256.
ExponentTable TableOf(const std::array<uint64_t, 256>& counts);

}  // namespace kvcast
