#include "kvcast/kv/rope.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>
#include <string>

#include "kvcast/kv/model_config.h"

namespace kvcast {
namespace {

Rope RopeOfModel(const std::string& members) {
  const Result<ModelConfig> config = ModelConfig::Parse(
      R"({"num_hidden_layers": 2, "num_attention_heads": 4, "head_dim": 8, "hidden_size": 32, )" +
      members + "}");
  return Rope::Of(config.value().groups[0]);
}

double RadiansOf(const Rope& rope, uint32_t pair) {
  return static_cast<double>(rope.turns[pair]) * 0x1p-64 * 2 * std::numbers::pi;
}

TEST(Rope, TurnsEachPairByAPowerOfTheta) {
  const Rope rope = RopeOfModel(R"("rope_theta": 10000.0)");
  ASSERT_EQ(rope.pairs(), 4u);
  EXPECT_EQ(rope.first, 0u);
  EXPECT_NEAR(RadiansOf(rope, 0), 1.0, 1e-12);
  EXPECT_NEAR(RadiansOf(rope, 1), 0.1, 1e-12);
  EXPECT_NEAR(RadiansOf(rope, 3), 0.001, 1e-12);
}

TEST(Rope, TurnsOnlyThePartThatTheModelSays) {
  EXPECT_EQ(RopeOfModel(R"("rope_theta": 100, "partial_rotary_factor": 0.5)").pairs(), 2u);
  EXPECT_EQ(RopeOfModel(R"("rope_theta": 100, "partial_rotary_factor": 0)").pairs(), 0u);
}

TEST(Rope, TurnsTheEndOfALatent) {
  const Rope rope = RopeOfModel(R"("rope_theta": 100, "kv_lora_rank": 16, "qk_rope_head_dim": 4)");
  EXPECT_EQ(rope.first, 16u);
  EXPECT_EQ(rope.pairs(), 2u);
}

TEST(Rope, IsScaledAsLlamaAndYarnScaleIt) {
  const Rope linear =
      RopeOfModel(R"("rope_theta": 10000, "rope_scaling": {"type": "linear", "factor": 4})");
  EXPECT_NEAR(RadiansOf(linear, 0), 0.25, 1e-12);
  const Rope llama = RopeOfModel(
      R"("rope_theta": 10000, "rope_scaling": {"rope_type": "llama3", "factor": 8, "low_freq_factor": 1,
         "high_freq_factor": 4, "original_max_position_embeddings": 1000})");
  EXPECT_NEAR(RadiansOf(llama, 0), 1.0, 1e-12);        // 159 turns: as it is.
  EXPECT_NEAR(RadiansOf(llama, 3), 0.001 / 8, 1e-12);  // A sixth of one: slowed.
  const Rope yarn = RopeOfModel(
      R"("rope_theta": 10000, "rope_scaling": {"rope_type": "yarn", "factor": 8,
         "original_max_position_embeddings": 1000})");
  EXPECT_NEAR(RadiansOf(yarn, 0), 1.0, 1e-12);
  EXPECT_NEAR(RadiansOf(yarn, 3), 0.001 / 8, 1e-12);
}

}  // namespace
}  // namespace kvcast
