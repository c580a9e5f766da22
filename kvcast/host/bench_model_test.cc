#include "kvcast/host/bench_model.h"

#include <gtest/gtest.h>

#include "kvcast/io/file.h"
#include "kvcast/io/scratch_directory.h"

namespace kvcast {
namespace {

size_t TokenBytes(const std::string& name) {
  const Result<BenchModel> model = BenchModel::Of(name, 1, Digest());
  return model.ok() ? model->block_bytes() : 0;
}

// As their config.json has them.
TEST(BenchModel, HasTheShapesOfRealModels) {
  EXPECT_EQ(TokenBytes("Llama-3-8B"), 131'072U);
  EXPECT_EQ(TokenBytes("llama-3-70b"), 327'680U);
  EXPECT_EQ(TokenBytes("Qwen2.5-7B"), 57'344U);
  EXPECT_EQ(TokenBytes("DeepSeek-V3"), 61U * 576 * 2);
  for (const std::string& name : BenchModel::Names()) {
    EXPECT_GT(TokenBytes(name), 0U) << name;
  }
}

// What is made up must never be taken for the cache of a model that somebody has.
TEST(BenchModel, IsAnotherInEveryRun) {
  const BenchModel first = *BenchModel::Of("tinylm", 128, Sha256::Of("first"));
  const BenchModel second = *BenchModel::Of("tinylm", 128, Sha256::Of("second"));
  EXPECT_NE(first.model.description.Fingerprint(), second.model.description.Fingerprint());
  EXPECT_EQ(first.model.name, "bench-tinylm");
}

TEST(BenchModel, TakesAFolderOrItsConfigAndNoWeights) {
  const ScratchDirectory scratch = *ScratchDirectory::Make();
  const std::string_view config =
      R"({"num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2,
          "head_dim": 8, "hidden_size": 32, "torch_dtype": "float16"})";
  ASSERT_TRUE(WriteFileAtomically(scratch / "config.json", AsBytes(config)).ok());
  for (const auto& path : {scratch.path(), scratch / "config.json"}) {
    const Result<BenchModel> model = BenchModel::Of(path.string(), 16, Digest());
    ASSERT_TRUE(model.ok()) << model.error().ToString();
    EXPECT_EQ(model->block_bytes(), 2U * 2 * 2 * 8 * 2 * 16);
    EXPECT_EQ(model->halves, HalfType::kFp16);
  }
}

TEST(BenchModel, SaysWhichThereAreAndWhatWasMeant) {
  const Result<BenchModel> model = BenchModel::Of("Lama-3-8B", 128, Digest());
  ASSERT_FALSE(model.ok());
  EXPECT_NE(model.error().message().find("Did you mean 'Llama-3-8B'?"), std::string::npos);
  EXPECT_NE(model.error().message().find("DeepSeek-V3"), std::string::npos);
}

}  // namespace
}  // namespace kvcast
