#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kvcast/codec/bands.h"
#include "kvcast/codec/number_rows.h"
#include "kvcast/codec/paired_matrix.h"
#include "kvcast/codec/track_format.h"

namespace kvcast {

// What AC and KTC code of a plane with one table.
struct CodedUnit {
  uint32_t table = 0;
  uint32_t first = 0;  // Of the plane's rows: one for each component that is coded.
  uint32_t count = 0;
};

// A band as kernels want it: constants in split places, head by head.
struct CodedBand {
  uint32_t first_head = 0;     // In the slice.
  std::vector<uint32_t> rows;  // Of AC's values, or of KTC's coded components.
  std::vector<float> means;
  std::vector<float> in_scales;   // KTC's.
  std::vector<float> out_scales;  // Times the step.
  std::vector<float> parts;       // Of each row: to 1/256 of a step, and those to numbers.
  std::vector<int32_t> rounding;
  std::vector<int32_t> zero_below;
  std::vector<uint16_t> packed_rounding;  // AC's, in packed places.
  std::vector<uint16_t> packed_zero_below;
  PairedMatrix forward;  // KTC's: values to coded components,
  PairedMatrix inverse;  // and back.

  NumberRounding Rounding() const {
    return {parts.data(), rounding.data(), zero_below.data(), packed_rounding.data(),
            packed_zero_below.data()};
  }
};

struct CodedPlane {
  uint32_t layer = 0;  // In the slice.
  Plane plane = Plane::kKey;
  uint32_t size = 0;   // Values of a head.
  uint32_t heads = 0;  // Of a band; AC: all.
  uint8_t rope = Bands::kNoRope;
  uint32_t rows = 0;
  std::vector<CodedUnit> units;
  std::vector<CodedBand> bands;
};

// All planes of a track at such a rung, made of its calibration's bands.
struct CodedPlanes {
  std::vector<CodedPlane> planes;
  uint32_t rows = 0;       // Of all of them.
  uint32_t most_rows = 0;  // Of one; also the number of the row that nothing is coded in.

  // REQUIRES: a slice that cuts through no band.
  CodedPlanes(const TrackFormat& format, const Bands& bands, std::span<const LayerShape> layers);
};

}  // namespace kvcast
