// Formats and objects as docs/reference has them, in another language.
#include <gtest/gtest.h>

#include "kvcast/codec/codec.h"
#include "kvcast/codec/coded_pages_test.h"
#include "kvcast/kv/golden_topic_test.h"

namespace kvcast {
namespace {

HalfType TypeCalled(const Json& name) {
  return name.get<std::string>() == "BF16" ? HalfType::kBf16 : HalfType::kFp16;
}

// Calls visit(row, where its values stand among the canonical ones) for some tokens.
template <typename Visit>
void ForEachRow(BlockView& block, uint32_t first_token, uint32_t tokens, Visit visit) {
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

Json FormatOut(const TrackFormat& format) {
  Json layers = Json::array();
  for (const LayerShape& layer : format.layers) {
    layers.push_back({layer.kv_heads, layer.key_size, layer.value_size});
  }
  std::string tables;
  for (const ExponentTable& table : format.tables) {
    tables += ToHex(std::as_bytes(std::span(table.exponents)));
    tables += ToHex(std::as_bytes(std::span(table.shares)));
  }
  return {{"rung", ToString(format.rung)},
          {"value_type", ToString(format.value_type)},
          {"layers", layers},
          {"first_layer", format.first_layer},
          {"first_head", format.first_head},
          {"block_tokens", format.block_tokens},
          {"run_tokens", format.run_tokens},
          {"calibration", format.calibration ? Json(format.calibration->ToHex()) : Json(nullptr)},
          {"scales", ToHex(std::as_bytes(std::span(format.scales)))},
          {"tables", tables}};
}

Result<Json> EncodedCase(const Json& in, const TrackFormat& format, const Kernels& kernels) {
  KVCAST_TRY(const auto codec, Codec::Of(format, format.value_type, kernels));
  const std::string values = Unhex(in["values"]);
  const auto first_token = in["first_token"].get<uint32_t>();
  const TestPages pages(format.Shape());
  BlockView block = pages.Block();
  ForEachRow(block, first_token, codec->TokensFrom(first_token),
             [&](std::span<std::byte> row, size_t at) {
               std::ranges::copy(AsBytes(values).subspan(at, row.size()), row.begin());
             });
  return Json{{"object", Hex(codec->Encode(block, first_token).ToString())}};
}

Result<Json> DecodedCase(const Json& in, const TrackFormat& format, const Kernels& kernels) {
  KVCAST_TRY(const auto codec, Codec::Of(format, TypeCalled(in["pages"]), kernels));
  const TestPages pages(format.Shape());
  BlockView block = pages.Block();
  const auto first_token = in["first_token"].get<uint32_t>();
  KVCAST_TRY(const uint32_t tokens,
             codec->Decode(Bytes::Of(Unhex(in["object"])), first_token, block));
  std::string values;
  ForEachRow(block, first_token, tokens,
             [&](std::span<std::byte> row, size_t) { values += AsText(row); });
  return Json{{"values", Hex(values)}};
}

TEST(Codec, ReproducesTheGoldenVectorsWithEveryKernel) {
  for (const Kernels* kernels : UsableKernels()) {
    SCOPED_TRACE(kernels->name);
    CheckTopic("codec", [&](const Json& in) -> Result<Json> {
      KVCAST_TRY(const TrackFormat format, TrackFormat::Parse(Unhex(in["format"])));
      return in.contains("values")   ? EncodedCase(in, format, *kernels)
             : in.contains("object") ? DecodedCase(in, format, *kernels)
                                     : Result<Json>(FormatOut(format));
    });
  }
}

}  // namespace
}  // namespace kvcast
