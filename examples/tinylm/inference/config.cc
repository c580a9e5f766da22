#include "examples/tinylm/inference/config.h"

#include <cmath>
#include <nlohmann/json.hpp>
#include <string>

#include "examples/tinylm/base/json.h"
#include "examples/tinylm/inference/kernels.h"

namespace kvcast::tinylm {
namespace {

constexpr uint64_t kSizeMax = 1 << 20;

Error Unsupported(std::string_view key, std::string_view expected) {
  return {ErrorCode::kUnsupported, "Only models whose \"" + std::string(key) + "\" is " +
                                       std::string(expected) + " are computed here."};
}

Result<uint32_t> Size(const Json& json, std::string_view key, uint32_t multiple_of = 1) {
  TINYLM_TRY(const std::optional<uint64_t> size, JsonCount(json, key));
  if (!size || *size == 0 || *size > kSizeMax) {
    return Error(ErrorCode::kMalformed, "\"" + std::string(key) + "\" must be 1 to 2^20.");
  }
  if (*size % multiple_of != 0) {
    return Unsupported(key, "a multiple of " + std::to_string(multiple_of));
  }
  return static_cast<uint32_t>(*size);
}

Result<float> Number(const Json& json, std::string_view key) {
  const auto found = json.find(key);
  const double number = found != json.end() && found->is_number() ? found->get<double>() : 0;
  if (!std::isfinite(number) || number <= 0) {
    return Error(ErrorCode::kMalformed, "\"" + std::string(key) + "\" must be above 0.");
  }
  return static_cast<float>(number);
}

// What changes the computation, other than sizes.
Result<void> CheckKind(const Json& json) {
  const auto is = [&](const char* key, const Json& value) {
    return json.contains(key) && json[key] == value;
  };
  if (!is("model_type", "llama")) {
    return Unsupported("model_type", "\"llama\"");
  }
  if (!is("hidden_act", "silu")) {
    return Unsupported("hidden_act", "\"silu\"");
  }
  if (!is("tie_word_embeddings", true)) {
    return Unsupported("tie_word_embeddings", "true");
  }
  for (const char* const key : {"attention_bias", "mlp_bias", "rope_scaling", "rope_parameters"}) {
    if (json.contains(key) && !is(key, nullptr) && !is(key, false)) {
      return Unsupported(key, "absent");
    }
  }
  return {};
}

}  // namespace

Result<Config> Config::Parse(std::string_view text) {
  TINYLM_TRY(const Json json, ParseJson(text));
  if (!json.is_object()) {
    return Error(ErrorCode::kMalformed, "A model's configuration is an object.").At(0);
  }
  TINYLM_TRY_VOID(CheckKind(json));
  Config config;
  TINYLM_TRY(config.vocabulary, Size(json, "vocab_size", kPanelColumns));
  TINYLM_TRY(config.hidden, Size(json, "hidden_size", kPanelColumns));
  TINYLM_TRY(config.feed_forward, Size(json, "intermediate_size", kPanelColumns));
  TINYLM_TRY(config.layers, Size(json, "num_hidden_layers"));
  TINYLM_TRY(config.kv_heads, Size(json, "num_key_value_heads"));
  TINYLM_TRY(config.heads, Size(json, "num_attention_heads", config.kv_heads));
  TINYLM_TRY(config.head_size, Size(json, "head_dim", kPanelColumns));
  TINYLM_TRY(config.context, Size(json, "max_position_embeddings"));
  TINYLM_TRY(config.norm_epsilon, Number(json, "rms_norm_eps"));
  TINYLM_TRY(config.rope_theta, Number(json, "rope_theta"));
  return config;
}

}  // namespace kvcast::tinylm
