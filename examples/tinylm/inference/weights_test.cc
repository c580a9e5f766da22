#include "examples/tinylm/inference/weights.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <nlohmann/json.hpp>

#include "examples/tinylm/base/file.h"
#include "examples/tinylm/base/json.h"
#include "examples/tinylm/base/safetensors.h"
#include "examples/tinylm/inference/bfloat16.h"
#include "examples/tinylm/inference/model_test.h"

namespace kvcast::tinylm {
namespace {

std::string WeightsFile() { return *ReadFile(kModelFolder + "/model.safetensors", 1 << 28); }

Json ConfigJson() { return *ParseJson(*ReadFile(kModelFolder + "/config.json", 1 << 20)); }

Result<Config> ParseWith(const char* key, const Json& value) {
  Json json = ConfigJson();
  json[key] = value;
  return Config::Parse(json.dump());
}

// The model's own file, under another header.
Result<Weights> ParseFileWith(std::string_view from, std::string_view to) {
  std::string file = WeightsFile();
  const size_t at = file.find(from);
  TINYLM_CHECK(at != std::string::npos && from.size() == to.size());
  file.replace(at, from.size(), to);
  return Weights::Parse(ConfigJson().dump(), std::as_bytes(std::span(file)));
}

TEST(Config, ReadsTheModelsSizes) {
  const Config& config = ModelWeights().config;
  EXPECT_EQ(config.layers, 6u);
  EXPECT_EQ(config.query_size(), 256u);
  EXPECT_EQ(config.kv_size(), 128u);
  EXPECT_EQ(config.group(), 2u);
  EXPECT_EQ(config.context, 4096u);
  EXPECT_EQ(config.kv_heads, 2u);
}

TEST(Config, RefusesToComputeAnotherKindOfModelHalf) {
  const std::pair<const char*, Json> others[] = {
      {"model_type", "mistral"},  {"hidden_act", "gelu"}, {"tie_word_embeddings", false},
      {"attention_bias", true},   {"mlp_bias", true},     {"rope_scaling", {{"factor", 2}}},
      {"num_attention_heads", 3}, {"head_dim", 48},       {"hidden_size", 255},
      {"intermediate_size", 700}, {"vocab_size", 4097},
  };
  for (const auto& [key, value] : others) {
    const Result<Config> config = ParseWith(key, value);
    ASSERT_FALSE(config.ok()) << key;
    EXPECT_EQ(config.error().code(), ErrorCode::kUnsupported) << key;
    EXPECT_NE(config.error().message().find(key), std::string::npos);
  }
}

TEST(Config, SaysWhichNumberMakesNoSense) {
  const std::pair<const char*, Json> others[] = {
      {"num_hidden_layers", 0}, {"hidden_size", "256"},      {"rms_norm_eps", -1},
      {"rope_theta", nullptr},  {"num_key_value_heads", -2}, {"max_position_embeddings", 1e9},
  };
  for (const auto& [key, value] : others) {
    const Result<Config> config = ParseWith(key, value);
    ASSERT_FALSE(config.ok()) << key;
    EXPECT_EQ(config.error().code(), ErrorCode::kMalformed) << key;
    EXPECT_NE(config.error().message().find(key), std::string::npos);
  }
  EXPECT_FALSE(Config::Parse("[]").ok());
}

TEST(Weights, AreTheFilesValues) {
  const std::string file = WeightsFile();
  const auto tensors = *ParseSafetensors(std::as_bytes(std::span(file)));
  const std::span<const std::byte> values =
      tensors.at("model.layers.3.self_attn.k_proj.weight").data;
  const LayerWeights& layer = ModelWeights().layers[3];
  std::vector<float> column(256);
  for (const size_t output : {0u, 63u, 64u, 127u}) {
    layer.query_key_value.CopyColumn(256 + output, column);  // Behind the queries' columns.
    for (size_t i = 0; i < column.size(); ++i) {
      EXPECT_EQ(column[i], LoadBfloat16(values.data() + (output * 256 + i) * 2));
    }
  }
}

TEST(Weights, MustHaveTheShapesThatTheConfigurationTells) {
  const auto error = [](std::string_view from, std::string_view to) {
    return ParseFileWith(from, to).error().ToString();
  };
  EXPECT_NE(
      error("model.layers.2.mlp.up_proj", "model.layers.2.mlp.xx_proj")
          .find("model.safetensors: There is no tensor \"model.layers.2.mlp.up_proj.weight\""),
      std::string::npos);
  EXPECT_NE(error("[704,256]", "[352,512]").find("It is BF16 [352, 512]"), std::string::npos);
  EXPECT_NE(error("BF16", "I16 ").find("model.safetensors: "), std::string::npos);
  EXPECT_NE(Weights::Load("/no/such/folder").error().ToString().find("/no/such/folder"),
            std::string::npos);
}

// A file that was cut, or whose header points beyond it, must not be read beyond its end.
TEST(Safetensors, LieWithinTheirFile) {
  const auto parses = [](std::string header, size_t data) {
    std::string file(8, '\0');
    file[0] = static_cast<char>(header.size());
    file += header + std::string(data, '\0');
    return ParseSafetensors(std::as_bytes(std::span(file))).ok();
  };
  const std::string tensor = R"({"a":{"dtype":"BF16","shape":[2,3],"data_offsets":[0,12]}})";
  EXPECT_TRUE(parses(tensor, 12));
  EXPECT_FALSE(parses(tensor, 11));
  EXPECT_FALSE(parses(R"({"a":{"dtype":"BF16","shape":[2,3],"data_offsets":[12,0]}})", 12));
  EXPECT_FALSE(parses(R"({"a":{"dtype":"BF16","shape":[2,2],"data_offsets":[0,12]}})", 12));
  EXPECT_FALSE(parses(R"({"a":{"dtype":"BF16","shape":[2,0],"data_offsets":[0,12]}})", 12));
  EXPECT_FALSE(parses(R"({"a":{"dtype":"BF16","shape":[-2],"data_offsets":[0,12]}})", 12));
  EXPECT_FALSE(parses(R"({"a":{"dtype":"BF16","shape":[6],"data_offsets":[0]}})", 12));
  EXPECT_FALSE(parses(R"({"a":3})", 12));
  EXPECT_FALSE(parses("[", 12));
  const std::string longer = std::string("\377\0\0\0\0\0\0\0", 8) + tensor;
  EXPECT_FALSE(ParseSafetensors(std::as_bytes(std::span(longer))).ok());
}

TEST(Bfloat16, RoundsToTheNearestAndTiesToEven) {
  const auto rounded = [](uint32_t bits) { return Bfloat16OfFloat(std::bit_cast<float>(bits)); };
  EXPECT_EQ(rounded(0x3f808000), 0x3f80);
  EXPECT_EQ(rounded(0x3f808001), 0x3f81);
  EXPECT_EQ(rounded(0x3f818000), 0x3f82);
  EXPECT_EQ(rounded(0x80000000), 0x8000);
  EXPECT_EQ(rounded(0x7f7fffff), 0x7f80);  // To infinity.
  EXPECT_TRUE(std::isnan(FloatOfBfloat16(rounded(0x7f800001))));
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    const float value = FloatOfBfloat16(static_cast<uint16_t>(bits));
    if (!std::isnan(value)) {
      ASSERT_EQ(Bfloat16OfFloat(value), bits);
    }
  }
}

}  // namespace
}  // namespace kvcast::tinylm
