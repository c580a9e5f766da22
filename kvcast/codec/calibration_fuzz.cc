// Any bytes, with a digest that fits and without: a calibration that writes the same bytes again,
// and gives formats that are sound, or an error.
#include "kvcast/base/check.h"
#include "kvcast/codec/calibration.h"

namespace {

void Feed(const std::string& file) {
  const auto calibration = kvcast::Calibration::Parse(file);
  if (!calibration.ok()) {
    return;
  }
  KVCAST_CHECK(calibration->file() == file);
  for (const kvcast::Rung rung :
       {kvcast::Rung::kFp8, kvcast::Rung::kFp4, kvcast::Rung::kBf16Lossless}) {
    const auto format = calibration->FormatOf(rung, 16);
    KVCAST_CHECK(!format.ok() || format->Check().ok());
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string file(reinterpret_cast<const char*>(data), size);
  Feed(file);
  const kvcast::Digest digest = kvcast::Sha256::Of(file);
  file.append(reinterpret_cast<const char*>(digest.bytes.data()), digest.bytes.size());
  Feed(file);
  return 0;
}
