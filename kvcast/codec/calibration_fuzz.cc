// Any bytes, with a digest that fits and without: a calibration that writes the same bytes again,
// and gives formats that are sound, or an error.
#include "kvcast/base/check.h"
#include "kvcast/codec/calibration.h"
#include "kvcast/codec/codec.h"
#include "kvcast/codec/coded_pages_test.h"

namespace {

void Feed(const std::string& file) {
  const auto calibration = kvcast::Calibration::Parse(file);
  if (!calibration.ok()) {
    return;
  }
  KVCAST_CHECK(calibration->file() == file);
  for (const kvcast::Rung rung :
       {kvcast::Rung::kFp8, kvcast::Rung::kFp4, kvcast::Rung::kBf16Lossless, kvcast::Rung::kAc,
        kvcast::Rung::kKtcFine}) {
    const auto format = calibration->FormatOf(rung, 16);
    KVCAST_CHECK(!format.ok() || format->Check().ok());
    // Whatever constants a calibration has, they code something.
    if (format.ok() && kvcast::BandRungIndex(rung) && format->Shape().values_per_token() < 512) {
      const auto codec = *kvcast::Codec::Of(*format, calibration->value_type(), *calibration);
      kvcast::TestPages pages(format->Shape());
      pages.FillWithNoise(1);
      kvcast::BlockView block = pages.Block();
      const kvcast::Bytes object = codec->Encode(block, 0);
      KVCAST_CHECK(codec->Decode(object, 0, block).ok());
    }
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
