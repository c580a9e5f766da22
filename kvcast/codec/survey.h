#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "kvcast/codec/rung_constants.h"
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

  const BlockShape& shape() const { return shape_; }
  HalfType type() const { return type_; }

  // REQUIRES: a block of this shape, of any number of tokens, with values of this type.
  void Add(const BlockView& block);

  // `headroom`, a power of two, is by how much values may pass the largest that were seen. FP8 and
  // FP4 are relative: room costs them nothing, and a value that is cut off costs much.
  RungConstants Constants(float headroom = 1.0F) const;
  // The format of a rung with its constants. Invalid: too many of them for one track.
  Result<TrackFormat> FormatOf(Rung rung) const;

 private:
  using Histogram = std::array<uint64_t, 256>;
  // How FP8 would err with each of a few scales within a factor of two, by the value's exponent: in
  // whole numbers, which add up to the same in any order.
  static constexpr size_t kFp8Scales = 8;
  static constexpr size_t kBinades = 32;
  static constexpr size_t kMantissas = 128;
  using Errors = std::array<uint64_t, kFp8Scales>;
  using Fp8Errors = std::array<Errors, kBinades>;

  void AddRow(const std::byte* values, uint32_t size, size_t row, size_t plane);
  float Fp8ScaleOf(size_t row, float largest) const;

  const BlockShape shape_;
  const HalfType type_;
  const Slice slice_;
  std::array<std::array<uint32_t, kFp8Scales>, kMantissas> fp8_error_of_{};
  std::vector<uint16_t> largest_;      // Magnitudes, per layer, plane and head.
  std::vector<Fp8Errors> fp8_errors_;  // The same.
  std::vector<Histogram> exponents_;   // Per layer and plane.
};

// The shares of the 15 most frequent exponents, and of the others, in 256.
ExponentTable TableOf(const std::array<uint64_t, 256>& counts);

}  // namespace kvcast
