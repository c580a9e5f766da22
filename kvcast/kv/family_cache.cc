#include "kvcast/kv/family_cache.h"

#include <algorithm>
#include <string>

#include "kvcast/base/hex.h"

namespace kvcast {
namespace {

// Families by "model_type", and the members of a text part of which one decides, by the other
// rules, what such a model caches; for those without any, nothing does. All are words with a space
// between.
struct DecidedFamilies {
  std::string_view families;
  std::string_view members;
};

// One line per reason: a family is added to the line whose reason is its own.
constexpr DecidedFamilies kDecidedFamilies[] = {
    // Recurrent layers or a short convolution beside attention, or in place of it.
    {"bailing_hybrid bailing_moe_linear bamba falcon_h1 falcon_mamba inkling_mm_model inkling_text "
     "jamba kimi_linear mamba mamba2 nemotron_h olmo_hybrid phi4flash plamo2 recurrent_gemma rwkv "
     "xlstm zamba zamba2 zaya",
     ""},
    {"granitemoehybrid lfm2 lfm2_moe lfm2_vl qwen3_5 qwen3_5_moe", "layer_types"},
    {"qwen3_5_moe_text qwen3_5_text qwen3_next", "layer_types"},
    {"minimax minimax_m1 minimax_text_01", "layer_types attn_type_list"},
    // An indexer's keys, or keys that are compressed.
    {"axk2 deepseek_v32 deepseek_v4 glm_moe_dsa minimax_m3_vl minimax_m3_vl_text", ""},
    // Another shape in some layers.
    {"gemma4 gemma4_assistant gemma4_text gemma4_unified gemma4_unified_assistant", ""},
    {"gemma4_unified_text mimo_v2_flash", ""},
    // KV heads that its files count otherwise than its code.
    {"plamo", ""},
    // Keys of images; layers that use what others cache; layers that run several times.
    {"mllama mllama_text_model", ""},
    {"gemma3n gemma3n_text", "num_kv_shared_layers"},
    {"hrm_text huginn_raven", ""},
    {"ouro", "total_ut_steps"},
    // A latent, whose rank has a default.
    {"axk1 deepseek_v2 deepseek_v3 glm4_moe_lite kimi_k2", "kv_lora_rank use_mla"},
    {"longcat_flash minicpm3 mistral4 youtu", "kv_lora_rank use_mla"},
};

// Takes the first word from a list; empty once there is none.
std::string_view TakeWord(std::string_view& words) {
  const std::string_view word = words.substr(0, words.find(' '));
  words.remove_prefix(std::min(word.size() + 1, words.size()));
  return word;
}

template <typename Matches>
bool AnyWord(std::string_view words, const Matches& matches) {
  while (!words.empty()) {
    if (matches(TakeWord(words))) {
      return true;
    }
  }
  return false;
}

}  // namespace

Result<void> RefuseFamilyCache(const ConfigText& part, const ConfigText& text) {
  const std::string family = part.Family();
  const auto is_it = [&](std::string_view word) { return word == family; };
  const auto is_said = [&](std::string_view word) { return text.Find(word) != nullptr; };
  for (const auto& [families, members] : kDecidedFamilies) {
    if (!AnyWord(families, is_it) || AnyWord(members, is_said)) {
      continue;
    }
    std::string_view rest = members;
    const std::string first(TakeWord(rest));
    return Error(ErrorCode::kUnsupported,
                 "The code of \"" + Printable(family) +
                     "\" caches something else than the keys and values of every layer" +
                     (first.empty() ? std::string(", which kvcast does not know.")
                                    : ", unless \"" + first +
                                          "\" says otherwise, which is left out: write in the one "
                                          "that the engine uses."))
        .At(part.Place("model_type"));
  }
  return {};
}

}  // namespace kvcast
