// Coded caches and calibrations as docs/reference has them, in another language.
#include <gtest/gtest.h>

#include "kvcast/codec/calibration.h"
#include "kvcast/codec/kvc_file.h"
#include "kvcast/kv/golden_topic_test.h"

namespace kvcast {
namespace {

Result<Json> WrittenKvc(const Json& in) {
  KVCAST_TRY(const TrackFormat format, TrackFormat::Parse(Unhex(in["format"])));
  std::string file = KvcOpening(format);
  uint32_t token = 0;
  for (const Json& object : in["objects"]) {
    const std::string payload = Unhex(object);
    file += KvcObjectOpening(format, token, payload.size()) + payload;
    token += format.run_tokens;
    token = token >= format.block_tokens ? 0 : token;
  }
  return Json{{"kvc", Hex(file)}};
}

Result<Json> ReadKvc(const Json& in) {
  const std::string bytes = Unhex(in["kvc"]);
  KVCAST_TRY(const KvcFile file, KvcFile::Parse(AsBytes(bytes)));
  Json objects = Json::array();
  for (size_t block = 0; block < file.blocks(); ++block) {
    for (size_t object = 0; object < file.objects_per_block(); ++object) {
      objects.push_back(ToHex(file.Payload(block, object)));
    }
  }
  return Json{{"format", Hex(file.format().Encode())}, {"objects", objects}};
}

Result<Json> CalibratedFormat(const Json& in) {
  KVCAST_TRY(const Calibration calibration, Calibration::Parse(Unhex(in["calibration"])));
  for (const Rung rung : AllRungs()) {
    if (ToString(rung) == in["rung"].get<std::string>()) {
      KVCAST_TRY(const TrackFormat format,
                 calibration.FormatOf(rung, in["block_tokens"].get<uint32_t>()));
      return Json{{"format", Hex(format.Encode())}};
    }
  }
  return Error(ErrorCode::kInvalid, "There is no such rung.");
}

TEST(CodedFile, ReproducesTheGoldenVectors) {
  CheckTopic("coded_file", [](const Json& in) {
    return in.contains("kvc")       ? ReadKvc(in)
           : in.contains("objects") ? WrittenKvc(in)
                                    : CalibratedFormat(in);
  });
}

}  // namespace
}  // namespace kvcast
