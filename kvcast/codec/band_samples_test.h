#pragma once

#include <memory>
#include <vector>

#include "kvcast/codec/band_fitting.h"
#include "kvcast/codec/band_moments.h"
#include "kvcast/codec/calibration.h"
#include "kvcast/codec/coded_pages_test.h"

namespace kvcast {

// A calibration with AC and KTC, from a few blocks like those that TestPages::FillLikeACache makes.
inline Calibration BandCalibration(const std::vector<LayerShape>& layers, HalfType type,
                                   BandForm form, const Rope& rope) {
  constexpr uint64_t kBlocks = 3;
  const BlockShape shape(layers, 32);
  std::vector<std::unique_ptr<TestPages>> samples;
  Survey survey(shape, type);
  BandMoments moments(layers, type, std::vector<Rope>(layers.size(), rope), form);
  for (uint64_t seed = 1; seed <= kBlocks; ++seed) {
    samples.push_back(std::make_unique<TestPages>(shape));
    samples.back()->FillLikeACache(type, seed);
    survey.Add(samples.back()->Block());
    moments.Add(samples.back()->Block());
  }
  BandFitting fitting(layers, type, moments.Finished());
  for (const auto& pages : samples) {
    fitting.AddMagnitudes(pages->Block(), 1);
  }
  fitting.FitSteps();
  for (const auto& pages : samples) {
    fitting.AddNumbers(pages->Block(), 1);
  }
  fitting.FitTables();
  return Calibration::Of(survey, fitting.bands());
}

}  // namespace kvcast
