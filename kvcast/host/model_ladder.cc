#include "kvcast/host/model_ladder.h"

#include <memory>
#include <system_error>
#include <utility>

#include "kvcast/host/cache_blocks.h"

namespace kvcast {

Result<Ladder> LadderOfModel(const std::filesystem::path& folder,
                             const std::filesystem::path& calibration, HalfType pages) {
  const std::filesystem::path file = calibration.empty() ? folder / kCalibrationName : calibration;
  std::error_code error;
  if (calibration.empty() && !std::filesystem::exists(file, error)) {
    return Ladder(pages);
  }
  KVCAST_TRY(Calibration read, ReadCalibration(file));
  return Ladder(pages, std::make_shared<const Calibration>(std::move(read)));
}

}  // namespace kvcast
