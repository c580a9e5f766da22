#include "kvcast/kv/model_files.h"

#include <gtest/gtest.h>

namespace kvcast {
namespace {

// As of a model of 60 layers with 384 experts each, in three matrices of three tensors.
std::string LargestIndex(std::string_view file) {
  std::string index = "{\"metadata\": {}, \"weight_map\": {";
  for (int layer = 0; layer < 60; ++layer) {
    for (int expert = 0; expert < 384; ++expert) {
      for (const char* matrix : {"gate", "up", "down"}) {
        for (const char* tensor : {"weight_packed", "weight_scale", "weight_shape"}) {
          index += (index.ends_with('{') ? "\"" : ",\"") + std::string("model.layers.") +
                   std::to_string(layer) + ".mlp.experts." + std::to_string(expert) + "." + matrix +
                   "_proj." + tensor + "\":\"" + std::string(file) + "\"";
        }
      }
    }
  }
  return index + "}}";
}

TEST(WeightFiles, TakesTheIndexOfTheLargestModels) {
  const std::string name = "model-00001-of-000062.safetensors";
  const std::string index = LargestIndex(name);
  ASSERT_GT(index.size(), size_t{16} * 1024 * 1024);
  ASSERT_LT(index.size(), kWeightIndexBytesMax);
  const auto files = WeightFiles({name, std::string(kWeightIndexFile)}, index);
  ASSERT_TRUE(files.ok()) << files.error().ToString();
  EXPECT_EQ(*files, std::vector<std::string>{name});
}

TEST(WeightFiles, NamesWhatLiesBesideTheWeights) {
  const std::string index = R"({"weight_map": {"w": "a.safetensors"}})";
  for (const char* other : {"model.safetensors", "b.safetensors", "adapter_x.safetensors"}) {
    const auto files = WeightFiles({"a.safetensors", other}, index);
    ASSERT_FALSE(files.ok()) << other;
    EXPECT_EQ(files.error().message().find("\"" + std::string(other) + "\" lies beside"), 0u)
        << files.error().message();
  }
  EXPECT_TRUE(WeightFiles({"a.safetensors", "consolidated.safetensors", "b.bin"}, index).ok());
}

}  // namespace
}  // namespace kvcast
