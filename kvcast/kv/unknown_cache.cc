#include "kvcast/kv/unknown_cache.h"

#include <algorithm>
#include <iterator>

#include "kvcast/base/hex.h"
#include "kvcast/kv/model_family.h"

namespace kvcast {
namespace {

// Members that only models have whose layers cache something else than keys and values of one
// shape: a recurrent state, an indexer's keys, keys of images, or another shape in each layer.
constexpr std::string_view kOtherState[] = {"attn_layer_indices",
                                            "attn_layer_period",
                                            "block_configs",
                                            "block_types",
                                            "cross_attention_layers",
                                            "full_attention_interval",
                                            "full_attn_idxs",
                                            "global_head_dim",
                                            "hybrid_layer_ids",
                                            "hybrid_layer_pattern",
                                            "hybrid_override_pattern",
                                            "index_head_dim",
                                            "layer_group_size",
                                            "layers_block_type",
                                            "linear_attn_config",
                                            "num_attention_heads_per_layer",
                                            "num_global_key_value_heads",
                                            "num_key_value_heads_per_layer",
                                            "state_size"};
constexpr std::string_view kOtherStatePrefixes[] = {"conv_",       "linear_conv_",  "linear_key_",
                                                    "linear_num_", "linear_value_", "lru_",
                                                    "mamba_",      "rwkv_",         "ssm_"};

// Parts of names by which configurations tell the number and size of KV heads. Somebody's own
// spelling of these must not be overlooked, or a model with few KV heads is named as one with many.
constexpr std::string_view kHeadWords[] = {"head_dim",       "head_kv",          "head_size",
                                           "key_value_head", "kv_channels",      "kv_head",
                                           "kv_n_head",      "multi_query_group"};
constexpr std::string_view kKnownHeadMembers[] = {
    "head_dim",         "num_attention_groups", "num_key_value_heads", "num_kv_heads",
    "qk_nope_head_dim", "qk_rope_head_dim",     "v_head_dim"};

bool TellsOfHeadsInItsOwnWords(std::string_view name) {
  if (std::ranges::find(kKnownHeadMembers, name) != std::end(kKnownHeadMembers)) {
    return false;
  }
  return name == "attention_other_setting" || name.ends_with("_groups") ||
         std::ranges::any_of(kHeadWords, [&](std::string_view word) {
           return name.find(word) != std::string_view::npos;
         });
}

// Whether a member says what "head_dim" says.
bool IsHeadSizeAgain(const ConfigText& text, std::string_view name) {
  if (name != "attention_head_dim" && name != "kv_channels") {
    return false;
  }
  const Result<std::optional<uint64_t>> size = text.Whole("head_dim");
  const Result<std::optional<uint64_t>> again = text.Whole(name);
  return size.ok() && again.ok() && size->has_value() && *size == *again;
}

// Whether members that begin with "mamba_" tell of recurrent layers that the model has not. Asked
// once for all of them: there may be as many as layers, of which it looks at each.
bool LeavesMambaUnused(const ConfigText& text) {
  if (!IsGraniteHybrid(text)) {
    return false;
  }
  const Json* types = text.Find("layer_types");
  return types != nullptr && types->is_array() && std::ranges::all_of(*types, [](const Json& type) {
           return type == "attention" || type == "full_attention";
         });
}

Result<void> RefuseUnknownHeads(const ConfigText& text) {
  const bool latent = text.Find("kv_lora_rank") != nullptr;
  const bool unused = LeavesMambaUnused(text);
  const auto is_unknown = [&](std::string_view name, const Json&) {
    // "qk_head_dim" says of what a latent is made, which the other members say, too.
    return TellsOfHeadsInItsOwnWords(name) && !(latent && name == "qk_head_dim") &&
           !IsHeadSizeAgain(text, name) && !(unused && name.starts_with("mamba_"));
  };
  if (const std::optional<std::string> name = text.FirstWhere(is_unknown)) {
    return Error(ErrorCode::kUnsupported,
                 "The model tells of its heads by \"" + Printable(*name) +
                     "\", which kvcast does not know: it reads \"num_key_value_heads\" and "
                     "\"head_dim\".")
        .At(text.Place(*name));
  }
  KVCAST_TRY(const std::optional<bool> says_latent, text.Flag("use_mla"));
  if (says_latent && *says_latent != latent) {
    return Error(ErrorCode::kUnsupported,
                 "\"use_mla\" says one thing about the model's attention, and \"kv_lora_rank\" "
                 "another.")
        .At(text.Place("use_mla"));
  }
  return {};
}

// MiniMax lists a 1 for every layer with a KV cache and a 0 for others.
Result<void> RefuseOtherAttention(const ConfigText& text) {
  const Json* kinds = text.Find("attn_type_list");
  if (kinds == nullptr) {
    return {};
  }
  KVCAST_TRY(const std::optional<uint64_t> layers, text.Whole("num_hidden_layers"));
  const bool all_cache =
      kinds->is_array() && std::ranges::all_of(*kinds, [](const Json& kind) { return kind == 1; });
  if (!all_cache || layers != kinds->size()) {
    return Error(ErrorCode::kUnsupported,
                 "\"attn_type_list\" does not say of every layer that it has a KV cache and "
                 "nothing else.")
        .At(text.Place("attn_type_list"));
  }
  return {};
}

Result<void> RefuseOtherState(const ConfigText& text) {
  const bool unused = LeavesMambaUnused(text);
  const auto is_other = [&](std::string_view name, const Json&) {
    const bool by_name = std::ranges::find(kOtherState, name) != std::end(kOtherState);
    const auto begins = [&](std::string_view prefix) { return name.starts_with(prefix); };
    return by_name || (std::ranges::any_of(kOtherStatePrefixes, begins) &&
                       !(unused && name.starts_with("mamba_")));
  };
  if (const std::optional<std::string> name = text.FirstWhere(is_other)) {
    return Error(ErrorCode::kUnsupported,
                 "The model has \"" + Printable(*name) +
                     "\": it caches more than the keys and values kvcast knows of.")
        .At(text.Place(*name));
  }
  KVCAST_TRY_VOID(RefuseOtherAttention(text));
  KVCAST_TRY(const std::optional<uint64_t> shared, text.Whole("num_kv_shared_layers"));
  if (shared.value_or(0) > 0) {
    return Error(ErrorCode::kUnsupported,
                 "The model has \"num_kv_shared_layers\": its last layers cache nothing of their "
                 "own.")
        .At(text.Place("num_kv_shared_layers"));
  }
  KVCAST_TRY(const std::optional<uint64_t> runs, text.Whole("total_ut_steps"));
  if (runs.value_or(1) > 1) {
    return Error(ErrorCode::kUnsupported,
                 "The model has \"total_ut_steps\": its layers run several times, and cache as "
                 "often.")
        .At(text.Place("total_ut_steps"));
  }
  KVCAST_TRY(const std::optional<bool> repeats, text.Flag("layer_sharing"));
  if (repeats.value_or(false)) {
    return Error(
               ErrorCode::kUnsupported,
               "The model has \"layer_sharing\": its layers run several times, and cache as often.")
        .At(text.Place("layer_sharing"));
  }
  KVCAST_TRY(const std::optional<bool> across, text.Flag("use_cla"));
  if (across.value_or(false)) {
    return Error(ErrorCode::kUnsupported,
                 "The model has \"use_cla\": some layers use what others cache.")
        .At(text.Place("use_cla"));
  }
  KVCAST_TRY(const std::optional<bool> encoder, text.Flag("is_encoder_decoder"));
  if (encoder.value_or(false)) {
    return Error(ErrorCode::kUnsupported,
                 "Models with an encoder cache cross-attention too, which kvcast does not know.")
        .At(text.Place("is_encoder_decoder"));
  }
  return {};
}

}  // namespace

Result<void> RefuseUnknownCache(const ConfigText& text) {
  KVCAST_TRY_VOID(RefuseOtherState(text));
  return RefuseUnknownHeads(text);
}

}  // namespace kvcast
