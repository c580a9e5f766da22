#pragma once

#include <filesystem>

#include "kvcast/base/result.h"
#include "kvcast/client/ladder.h"
#include "kvcast/codec/calibration.h"

namespace kvcast {

// What a model's calibration is called in the model's folder.
inline constexpr const char* kCalibrationName = "model.kvcal";

Result<Calibration> ReadCalibration(const std::filesystem::path& path);

// The rungs of a model: with the calibration that is named, or else with the one in its folder, if
// there is one.
Result<Ladder> LadderOfModel(const std::filesystem::path& folder,
                             const std::filesystem::path& calibration, HalfType pages);

}  // namespace kvcast
