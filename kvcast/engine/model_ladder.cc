#include "kvcast/engine/model_ladder.h"

#include <memory>
#include <system_error>
#include <utility>

#include "kvcast/io/file.h"

namespace kvcast {

Result<Calibration> ReadCalibration(const std::filesystem::path& path) {
  KVCAST_TRY(const std::string text, ReadRegularFile(path, Calibration::kBytesMax));
  Result<Calibration> calibration = Calibration::Parse(text);
  if (!calibration.ok()) {
    return std::move(calibration).error().In(path.string());
  }
  return calibration;
}

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
