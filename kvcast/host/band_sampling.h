#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kvcast/base/result.h"
#include "kvcast/codec/bands.h"
#include "kvcast/host/coding_flags.h"
#include "kvcast/io/progress.h"

namespace kvcast {

// What AC and KTC are calibrated with, and how.
struct BandSampling {
  std::vector<std::string> samples;
  std::string weights;  // A safetensors file; empty: none.
  CodingFlags coding;   // Of which the model is said.
  BandForm form = BandForm::kLayer;

  // Looks at all samples, which have so many values, each a few times.
  Result<Bands> Sampled(uint64_t values, Progress& progress) const;
};

// One transform for all heads of a layer is smaller at the same quality, and slower by the number
// of heads: it is taken where that does not matter.
BandForm UsualForm(const std::vector<LayerShape>& layers);

}  // namespace kvcast
