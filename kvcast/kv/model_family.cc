#include "kvcast/kv/model_family.h"

#include <algorithm>
#include <iterator>
#include <span>
#include <utility>

namespace kvcast {
namespace {

constexpr std::string_view kOwnHeadSize[] = {"afmoe",
                                             "cohere2_moe",
                                             "cwm",
                                             "ernie4_5",
                                             "glm",
                                             "glm4",
                                             "gpt_oss",
                                             "helium",
                                             "higgs_audio_v2",
                                             "hrm_text",
                                             "hy_v3",
                                             "inkling_text",
                                             "laguna",
                                             "llama4_text",
                                             "mellum",
                                             "mimo_v2_flash",
                                             "minimax_m2",
                                             "minimax_m3_vl_text",
                                             "ministral3",
                                             "muse_glimmer_text",
                                             "paddleocr_vl_text",
                                             "qwen3",
                                             "qwen3_5_moe_text",
                                             "qwen3_5_text",
                                             "qwen3_next",
                                             "qwen3_vl_moe_text",
                                             "qwen3_vl_text",
                                             "seed_oss",
                                             "solar_open",
                                             "step3p5",
                                             "zaya"};
constexpr std::string_view kOwnKvHeads[] = {
    "bitnet",  "dots1",     "ernie4_5_moe", "exaone4", "exaone_moe",      "glm4_moe",
    "minimax", "ministral", "mistral",      "mixtral", "phi4_multimodal", "phimoe",
    "qwen2",   "qwen2_moe", "qwen3_moe",    "smollm3", "stablelm",        "starcoder2"};

bool IsOneOf(std::string_view family, std::span<const std::string_view> families) {
  return std::ranges::find(families, family) != families.end();
}

}  // namespace

bool IsUsuallyMultiQuery(const ConfigText& text) {
  const std::string_view family = text.Word("model_type");
  return family == "falcon" || family == "gpt_bigcode";
}

std::optional<uint64_t> UsualWindowPattern(const ConfigText& text) {
  constexpr std::pair<std::string_view, uint64_t> kPatterns[] = {
      {"cohere2", 4}, {"gemma2", 2}, {"gemma3_text", 6}, {"gpt_oss", 2}};
  for (const auto& [family, pattern] : kPatterns) {
    if (text.Word("model_type") == family) {
      return pattern;
    }
  }
  return std::nullopt;
}

bool HasOwnHeadSize(const ConfigText& text) {
  const std::string_view family = text.Word("model_type");
  return family.find("gemma") != std::string_view::npos || IsOneOf(family, kOwnHeadSize);
}

bool IsGraniteHybrid(const ConfigText& text) { return text.Family() == "granitemoehybrid"; }

bool HasOwnKvHeads(const ConfigText& text) {
  return HasOwnHeadSize(text) || IsOneOf(text.Word("model_type"), kOwnKvHeads);
}

}  // namespace kvcast
