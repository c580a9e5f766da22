#pragma once

#include <cstdint>

#include "kvcast/base/json.h"
#include "kvcast/base/result.h"
#include "kvcast/host/cache_blocks.h"

namespace kvcast {

// What a rung makes of a cache.
struct RungFigures {
  Rung rung = Rung::kBf16;
  uint64_t bytes = 0;  // As 'kvcast encode' would write it.
  double bits_per_value = 0;
  double ratio = 0;               // To the values as they are.
  double error = 0;               // Root of the mean square, as a share of the values' own.
  double encode_bytes_per_s = 0;  // Of values, on one core.
  double decode_bytes_per_s = 0;

  Json ToJson() const;
};

// Encodes and decodes all of a cache. Mismatch or unsupported: what Codec::Of says.
Result<RungFigures> FiguresOf(const CacheBlocks& blocks, const TrackFormat& format,
                              const Calibration* calibration);

// The heading of a table of them, and a row.
void PrintFiguresHeading();
void PrintFigures(const RungFigures& figures);

}  // namespace kvcast
