// Objects of AC and KTC as docs/reference has them, in another language.
#include <gtest/gtest.h>

#include "kvcast/codec/calibration.h"
#include "kvcast/codec/codec.h"
#include "kvcast/codec/coded_pages_test.h"
#include "kvcast/kv/golden_topic_test.h"

namespace kvcast {
namespace {

// Calls visit(row, where its values stand among the canonical ones) for some tokens.
template <typename Visit>
void ForEachBandRow(BlockView& block, uint32_t first_token, uint32_t tokens, Visit visit) {
  size_t at = 0;
  for (uint32_t token = first_token; token < first_token + tokens; ++token) {
    for (size_t layer = 0; layer < block.shape().layers().size(); ++layer) {
      for (const Plane plane : {Plane::kKey, Plane::kValue}) {
        for (uint32_t head = 0; head < block.shape().layers()[layer].kv_heads; ++head) {
          const std::span<std::byte> row = block.MutableRow(token, layer, plane, head);
          visit(row, at);
          at += row.size();
        }
      }
    }
  }
}

Result<Json> BandCase(const Json& in, const Kernels& kernels) {
  KVCAST_TRY(const Calibration calibration, Calibration::Parse(Unhex(in["calibration"])));
  KVCAST_TRY(const TrackFormat format, TrackFormat::Parse(Unhex(in["format"])));
  const std::string pages_type = in.contains("pages") ? in["pages"].get<std::string>() : "";
  const HalfType type = pages_type.empty()     ? format.value_type
                        : pages_type == "BF16" ? HalfType::kBf16
                                               : HalfType::kFp16;
  KVCAST_TRY(const auto codec, Codec::Of(format, type, calibration, kernels));
  const auto first_token = in["first_token"].get<uint32_t>();
  const TestPages pages(format.Shape());
  BlockView block = pages.Block();
  if (in.contains("values")) {
    EXPECT_EQ(block.position(), in["position"].get<size_t>());
    const std::string values = Unhex(in["values"]);
    ForEachBandRow(block, first_token, codec->TokensFrom(first_token),
                   [&](std::span<std::byte> row, size_t at) {
                     std::ranges::copy(AsBytes(values).subspan(at, row.size()), row.begin());
                   });
    return Json{{"object", Hex(codec->Encode(block, first_token).ToString())}};
  }
  KVCAST_TRY(const uint32_t tokens,
             codec->Decode(Bytes::Of(Unhex(in["object"])), first_token, block));
  std::string values;
  ForEachBandRow(block, first_token, tokens,
                 [&](std::span<std::byte> row, size_t) { values += AsText(row); });
  return Json{{"values", Hex(values)}};
}

TEST(BandCodec, ReproducesTheGoldenVectorsWithEveryKernel) {
  for (const Kernels* kernels : UsableKernels()) {
    SCOPED_TRACE(kernels->name);
    CheckTopic("bands", [&](const Json& in) { return BandCase(in, *kernels); });
  }
}

}  // namespace
}  // namespace kvcast
