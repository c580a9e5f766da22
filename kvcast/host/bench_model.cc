#include "kvcast/host/bench_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>

#include "kvcast/host/cache_blocks.h"
#include "kvcast/host/kv_file_fit.h"
#include "kvcast/host/suggestion.h"
#include "kvcast/io/file.h"
#include "kvcast/kv/cache_track.h"
#include "kvcast/kv/model_config.h"
#include "kvcast/kv/model_files.h"

namespace kvcast {
namespace {

// What the config.json of a model says of its KV.
struct KnownShape {
  const char* name;
  uint32_t layers;
  uint32_t heads;
  uint32_t kv_heads;  // 0: a latent for all heads together.
  uint32_t head_size;
  uint32_t latent;
  uint32_t rotary;  // Beside the latent.
  double rope_theta;
};

constexpr KnownShape kKnownShapes[] = {
    {"Llama-3-8B", 32, 32, 8, 128, 0, 0, 500000},
    {"Llama-3-70B", 80, 64, 8, 128, 0, 0, 500000},
    {"Llama-3.2-1B", 16, 32, 8, 64, 0, 0, 500000},
    {"Mistral-7B", 32, 32, 8, 128, 0, 0, 1000000},
    {"Qwen2.5-7B", 28, 28, 4, 128, 0, 0, 1000000},
    {"Qwen2.5-72B", 80, 64, 8, 128, 0, 0, 1000000},
    {"Qwen3-32B", 64, 64, 8, 128, 0, 0, 1000000},
    {"DeepSeek-V2-Lite", 27, 16, 0, 0, 512, 64, 10000},
    {"DeepSeek-V3", 61, 128, 0, 0, 512, 64, 10000},
    {"tinylm", 6, 4, 2, 64, 0, 0, 10000},
};

std::string ConfigOf(const KnownShape& known) {
  const std::string cached =
      known.kv_heads == 0
          ? fmt::format(R"("kv_lora_rank": {}, "qk_rope_head_dim": {})", known.latent, known.rotary)
          : fmt::format(R"("num_key_value_heads": {}, "head_dim": {})", known.kv_heads,
                        known.head_size);
  return fmt::format(
      R"({{"model_type": "{}", "num_hidden_layers": {}, "num_attention_heads": {}, {},
           "rope_theta": {:.1f}, "torch_dtype": "bfloat16"}})",
      known.kv_heads == 0 ? "deepseek_v3" : "llama", known.layers, known.heads, cached,
      known.rope_theta);
}

bool IsSameWord(std::string_view a, std::string_view b) {
  return std::ranges::equal(
      a, b, [](unsigned char x, unsigned char y) { return std::tolower(x) == std::tolower(y); });
}

const KnownShape* Known(const std::string& name) {
  const auto* const found = std::ranges::find_if(
      kKnownShapes, [&](const KnownShape& known) { return IsSameWord(known.name, name); });
  return found == std::end(kKnownShapes) ? nullptr : found;
}

struct ConfigFound {
  std::string name;
  std::string text;
  std::string file;  // Empty: it is ours.
};

Result<ConfigFound> FindConfig(const std::string& wanted) {
  if (const KnownShape* const known = Known(wanted)) {
    return ConfigFound{known->name, ConfigOf(*known), ""};
  }
  std::filesystem::path file = wanted;
  std::error_code failed;
  if (std::filesystem::is_directory(file, failed)) {
    file /= "config.json";
  }
  if (!std::filesystem::exists(file, failed)) {
    const std::vector<std::string> names = BenchModel::Names();
    const std::optional<std::string> meant = Suggestion(wanted, names);
    return Error(ErrorCode::kNotFound,
                 fmt::format("'{}' is no model whose shape is known here, nor a config.json, nor a "
                             "folder with one.{} Known are {}.",
                             wanted, meant ? fmt::format(" Did you mean '{}'?", *meant) : "",
                             fmt::join(names, ", ")));
  }
  KVCAST_TRY(std::string text, ReadFile(file, kModelConfigBytesMax));
  const std::string name = ModelFolder::NameOf(std::filesystem::absolute(file).parent_path());
  return ConfigFound{IsModelName(name) ? name : "model", std::move(text), file.string()};
}

Result<ModelConfig> ConfigIn(const ConfigFound& found) {
  Result<ModelConfig> config = ModelConfig::Parse(found.text);
  if (!config.ok()) {
    return std::move(config).error().In(found.file);
  }
  if (!config->kv_dtype.ok()) {
    return Error(config->kv_dtype.error()).In(found.file);
  }
  return config;
}

}  // namespace

std::vector<std::string> BenchModel::Names() {
  std::vector<std::string> names;
  for (const KnownShape& known : kKnownShapes) {
    names.emplace_back(known.name);
  }
  return names;
}

Result<BenchModel> BenchModel::Of(const std::string& wanted, uint64_t block_tokens,
                                  const Digest& run) {
  KVCAST_TRY(const ConfigFound found, FindConfig(wanted));
  KVCAST_TRY(const ModelConfig config, ConfigIn(found));
  KVCAST_TRY(const uint32_t tokens, BlockTokensOf(block_tokens));
  KVCAST_TRY(const ValueType values, ValuesOf(*config.kv_dtype));
  KVCAST_TRY(const HalfType halves, HalvesOf(values));
  ModelFolder model;
  model.name = "bench-" + found.name;
  model.description.weights = run;
  model.description.tokenizer = run;
  model.description.config = config.digest;
  model.description.kv_dtype = *config.kv_dtype;
  model.description.block_tokens = tokens;
  model.description.groups = config.groups;
  BlockShape shape(config.groups, tokens);
  std::vector<Rope> ropes(shape.layers().size());
  for (const LayerGroup& group : config.groups) {
    for (const uint32_t layer : group.layers) {
      ropes[layer] = Rope::Of(group);
    }
  }
  return BenchModel{std::move(model), std::move(shape), values, halves, std::move(ropes)};
}

}  // namespace kvcast
