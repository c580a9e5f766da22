#include "kvcast/kv/model_config.h"

#include <gtest/gtest.h>

#include <set>

#include "kvcast/kv/model_key.h"

namespace kvcast {
namespace {

constexpr std::string_view kLlama =
    R"({"num_hidden_layers": 4, "num_attention_heads": 8, "num_key_value_heads": 2,
        "hidden_size": 64, "rope_theta": 10000.0, "rms_norm_eps": 1e-5, "torch_dtype": "bfloat16"})";

std::string With(std::string_view member) {
  std::string json(kLlama);
  return json.insert(1, std::string(member) + ", ");
}

TEST(ModelConfig, SaysWhatAModelCaches) {
  const ModelConfig config = *ModelConfig::Parse(kLlama);
  ASSERT_EQ(config.groups.size(), 1u);
  EXPECT_EQ(config.groups[0].attention, Attention::kGqa);
  EXPECT_EQ(config.groups[0].kv_heads, 2u);
  EXPECT_EQ(config.groups[0].key_size, 8u);
  EXPECT_EQ(*config.kv_dtype, KvDtype::kBf16);
}

// Saving a model again with another version of a library must not lose its caches.
TEST(ModelConfig, IsTheSameWhateverDoesNotChangeKv) {
  const Digest digest = ModelConfig::Parse(kLlama)->digest;
  for (const char* member : {R"("transformers_version": "5.0")", R"("use_cache": true)",
                             R"("_name_or_path": "/models/x")", R"("eos_token_id": [1, 2])"}) {
    EXPECT_EQ(ModelConfig::Parse(With(member))->digest, digest) << member;
  }
}

// A wrong hit is worse than a miss: what might change KV changes the name.
TEST(ModelConfig, IsAnotherWhereKvMightChange) {
  const Digest digest = ModelConfig::Parse(kLlama)->digest;
  for (const char* member : {R"("attention_bias": true)", R"("hidden_act": "gelu")",
                             R"("quantization_config": {"bits": 4})", R"("unheard_of": 1)"}) {
    EXPECT_NE(ModelConfig::Parse(With(member))->digest, digest) << member;
  }
}

TEST(ModelConfig, MixesLayersThatSlideWithLayersThatDoNot) {
  const Result<ModelConfig> config = ModelConfig::Parse(With(
      R"("sliding_window": 512, "rope_local_base_freq": 500,
         "layer_types": ["sliding_attention", "full_attention", "sliding_attention", "sliding_attention"])"));
  ASSERT_TRUE(config.ok());
  ASSERT_EQ(config->groups.size(), 2u);
  EXPECT_EQ(config->groups[0].layers, (std::vector<uint32_t>{0, 2, 3}));
  EXPECT_EQ(config->groups[0].window, 512u);
  EXPECT_EQ(config->groups[1].layers, (std::vector<uint32_t>{1}));
  EXPECT_NE(config->groups[0].rope, config->groups[1].rope);
}

TEST(ModelConfig, SaysWhyItRefusesAModel) {
  const Result<ModelConfig> recurrent = ModelConfig::Parse(With(
      R"("layer_types": ["linear_attention", "full_attention", "full_attention", "full_attention"])"));
  ASSERT_FALSE(recurrent.ok());
  EXPECT_EQ(recurrent.error().code(), ErrorCode::kUnsupported);
  EXPECT_NE(recurrent.error().message().find("linear_attention"), std::string::npos);
}

// A model with few KV heads must not be named as one with many, nor be refused for a wrong reason.
TEST(ModelConfig, NamesTheSpellingOfHeadsItDoesNotKnow) {
  for (const std::string name : {"multi_query_group_num", "n_head_kv", "num_query_groups",
                                 "attention_other_setting", "swa_num_key_value_heads"}) {
    const Result<ModelConfig> config = ModelConfig::Parse(With("\"" + name + "\": 2"));
    ASSERT_FALSE(config.ok()) << name;
    EXPECT_EQ(config.error().code(), ErrorCode::kUnsupported);
    EXPECT_NE(config.error().message().find("heads by \"" + name + "\""), std::string::npos);
    EXPECT_EQ(config.error().offset(), 1u);
  }
}

// What a family's code would fill in is not what follows from the other counts.
TEST(ModelConfig, AsksForWhatOnlyTheFamilysCodeKnows) {
  const auto refusal = [](const std::string& json) {
    const Result<ModelConfig> config = ModelConfig::Parse(json);
    EXPECT_EQ(config.ok() ? ErrorCode::kMachine : config.error().code(), ErrorCode::kUnsupported);
    return config.ok() ? "" : config.error().message();
  };
  const std::string head_size = refusal(With(R"("model_type": "gemma2")"));
  EXPECT_NE(head_size.find("\"head_dim\" is left out"), std::string::npos) << head_size;
  EXPECT_NE(head_size.find("write in the one"), std::string::npos);
  EXPECT_TRUE(ModelConfig::Parse(With(R"("model_type": "gemma2", "head_dim": 256)")).ok());

  const std::string counts = R"("num_hidden_layers": 4, "num_attention_heads": 8, "head_dim": 8)";
  EXPECT_TRUE(ModelConfig::Parse("{" + counts + "}").ok());
  const std::string part = R"({"text_config": {)" + counts + "}}";
  const std::string family = R"({"model_type": "mistral", )" + counts + "}";
  for (const std::string& json : {part, family}) {
    EXPECT_NE(refusal(json).find("\"num_key_value_heads\" is left out"), std::string::npos) << json;
  }
}

// Whoever has to write in counts is told of all of them, and in which part they are looked for.
TEST(ModelConfig, NamesAllCountsThatAreLeftOut) {
  const auto refusal = [](std::string_view json) {
    return ModelConfig::Parse(json).error().message();
  };
  EXPECT_EQ(refusal(R"({"text_config": {"model_type": "gemma3_text", "hidden_size": 2560}})"),
            "\"num_hidden_layers\", \"num_attention_heads\", \"num_key_value_heads\" and "
            "\"head_dim\" are left out, and the model's own code knows what kvcast does not: write "
            "in those that the engine uses.");
  EXPECT_EQ(refusal(R"({"num_hidden_layers": 4, "hidden_size": 64})"),
            "\"num_attention_heads\" is left out, and the model's own code knows what kvcast does "
            "not: write in the one that the engine uses.");
  for (const std::string part : {"llm_config", "language_config", "thinker_config"}) {
    const std::string message = refusal("{\"" + part + "\": {\"num_hidden_layers\": 4}}");
    EXPECT_NE(message.find("kvcast does not look into \"" + part + "\": write in those that"),
              std::string::npos)
        << message;
  }
}

// The families' code fills in what their files leave out: another cache than the counts tell of.
TEST(ModelConfig, SaysWhichMemberDecidesWhatAFamilyCaches) {
  const auto refusal = [](const char* family) {
    const std::string member = "\"model_type\": \"" + std::string(family) + "\", \"head_dim\": 8";
    const Result<ModelConfig> config = ModelConfig::Parse(With(member));
    EXPECT_EQ(config.ok() ? ErrorCode::kMachine : config.error().code(), ErrorCode::kUnsupported);
    EXPECT_EQ(config.ok() ? 0u : config.error().offset(), 1u) << family;
    return config.ok() ? "" : config.error().message();
  };
  EXPECT_EQ(
      refusal("qwen3_next"),
      "The code of \"qwen3_next\" caches something else than the keys and values of every "
      "layer, unless \"layer_types\" says otherwise, which is left out: write in the one that "
      "the engine uses.");
  EXPECT_EQ(refusal("jamba"),
            "The code of \"jamba\" caches something else than the keys and values of every layer, "
            "which kvcast does not know.");
}

// Two prompts with one prefix have one name for it, however they go on.
TEST(ModelConfig, RefusesKvThatDependsOnMoreThanThePrefix) {
  const auto refusal = [](const char* member) {
    const Result<ModelConfig> config = ModelConfig::Parse(With(member));
    EXPECT_FALSE(config.ok()) << member;
    EXPECT_EQ(config.error().offset(), 1u) << member;
    return config.error().message();
  };
  for (const char* member : {R"("rope_scaling": {"type": "su"})",
                             R"("rope_parameters": {"full_attention": {"rope_type": "dynamic"}})",
                             R"("use_dynamic_ntk": true)"}) {
    EXPECT_NE(refusal(member).find("length of the whole prompt"), std::string::npos) << member;
  }
  for (const char* member : {R"("is_causal": false)", R"("use_bidirectional_attention": true)",
                             R"("model_type": "paligemma")", R"("model_type": "roberta")"}) {
    EXPECT_NE(refusal(member).find("tokens attend to later ones"), std::string::npos) << member;
  }
  EXPECT_NE(refusal(R"("rope_scaling": {"type": "dynamic"})").find("without that scaling"),
            std::string::npos);
  EXPECT_NE(refusal(R"("rope_scaling": {"type": "longrope"})").find("write that list in"),
            std::string::npos);
  for (const char* member :
       {R"("sparse_config": {"dense_len": 8192})", R"("dual_chunk_attention_config": {})"}) {
    EXPECT_NE(refusal(member).find("another one in long prompts"), std::string::npos) << member;
  }
  EXPECT_TRUE(ModelConfig::Parse(With(R"("rope_scaling": {"type": "yarn"})")).ok());
}

// Wherever the member stands, in the text part of a larger model too.
TEST(ModelConfig, PointsAtTheMemberThatIsWrong) {
  const auto offset = [](std::string_view json) {
    return ModelConfig::Parse(json).error().offset();
  };
  EXPECT_EQ(offset(R"( [])"), 1u);
  EXPECT_EQ(offset(R"( {"num_attention_heads": 4})"), 1u);  // A member is missing from this.
  EXPECT_EQ(offset(R"({"a": {}, "num_hidden_layers": -1})"), 10u);
  EXPECT_EQ(offset(R"({"a": 0, "text_config": {"num_hidden_layers": 0}})"), 25u);
  EXPECT_EQ(offset(R"({"num_hidden_layers": 1, "num_attention_heads": 4,
"num_key_value_heads": 3, "head_dim": 8})"),
            51u);
  EXPECT_EQ(offset(R"({"num_hidden_layers": 1, "num_attention_heads": 4, "head_dim": 8,
"layer_types": ["mamba"]})"),
            82u);
  EXPECT_EQ(offset(R"({"use_cache": true, "is_encoder_decoder": 1})"), 20u);
  EXPECT_EQ(ModelConfig::Parse(With(R"("dtype": "f")"))->kv_dtype.error().offset(), 1u);
}

// Every field of a description changes the fingerprint.
TEST(ModelDescription, IsNamedByAllOfIt) {
  ModelDescription model;
  model.groups = ModelConfig::Parse(kLlama)->groups;
  std::vector<ModelDescription> others(14, model);
  others[1].weights = Sha256::Of("w");
  others[2].tokenizer = Sha256::Of("w");
  others[3].adapter = Sha256::Of("w");
  others[4].config = Sha256::Of("w");
  others[5].kv_dtype = KvDtype::kFp16;
  others[6].block_tokens = 16;
  others[7].groups[0].kv_heads = 8;
  others[8].groups[0].attention = Attention::kMha;
  others[9].groups[0].rope = "";
  others[10].groups[0].window = 1;
  others[11].groups[0].layers.pop_back();
  others[12].groups[0].rotary_size = 4;
  others[13].groups.push_back(others[13].groups[0]);
  std::set<Digest> fingerprints;
  for (const ModelDescription& other : others) {
    fingerprints.insert(other.Fingerprint());
  }
  EXPECT_EQ(fingerprints.size(), others.size());
}

}  // namespace
}  // namespace kvcast
