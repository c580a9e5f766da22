#include "kvcast/kv/model_config.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "kvcast/base/hex.h"
#include "kvcast/kv/canonical_value.h"
#include "kvcast/kv/causal_cache.h"
#include "kvcast/kv/config_dtype.h"
#include "kvcast/kv/config_text.h"
#include "kvcast/kv/family_cache.h"
#include "kvcast/kv/model_family.h"
#include "kvcast/kv/unknown_cache.h"

namespace kvcast {
namespace {

constexpr uint64_t kConfigLayersMax = 4096;

Result<uint32_t> KvHeads(const ConfigText& text, uint32_t heads) {
  KVCAST_TRY(const std::optional<uint32_t> named,
             text.Count({"num_key_value_heads", "num_attention_groups"}));
  if (named) {
    return *named;
  }
  // The first Falcons have one KV head and say "num_kv_heads": 71.
  KVCAST_TRY(const std::optional<bool> multi_query, text.Flag("multi_query"));
  const bool must_say = text.IsPart() || HasOwnKvHeads(text);
  const bool usually = IsUsuallyMultiQuery(text);
  if (!multi_query && usually && must_say) {
    return text.LeftOut({"multi_query"});
  }
  if (multi_query.value_or(usually)) {
    KVCAST_TRY(const std::optional<bool> grouped, text.Flag("new_decoder_architecture"));
    if (!grouped.value_or(false)) {
      return 1u;
    }
  }
  KVCAST_TRY(const std::optional<uint32_t> older_name, text.Count({"num_kv_heads"}));
  if (!older_name && must_say) {
    return text.LeftOut({"num_key_value_heads"});
  }
  return older_name.value_or(heads);
}

// Counts that are left out, by the name to write them under: all at once, since whoever writes them
// in would else meet one after the other. Those that are there and wrong come first.
Result<void> CheckCounts(const ConfigText& text, bool latent) {
  std::vector<std::string_view> missing;
  const auto need = [&](std::initializer_list<std::string_view> names,
                        uint64_t max = kConfigCountMax) -> Result<void> {
    KVCAST_TRY(const std::optional<uint32_t> count, text.Count(names, max));
    if (!count) {
      missing.push_back(*names.begin());
    }
    return {};
  };
  KVCAST_TRY_VOID(
      need({"num_hidden_layers", "n_layer", latent ? "n_layer" : "num_layers"}, kConfigLayersMax));
  if (latent) {
    KVCAST_TRY_VOID(need({"qk_rope_head_dim"}));
  } else {
    KVCAST_TRY_VOID(need({"num_attention_heads", "n_head"}));
    const bool must_say = text.IsPart() || HasOwnKvHeads(text);
    if (must_say && !IsUsuallyMultiQuery(text) && text.Find("multi_query") == nullptr) {
      KVCAST_TRY_VOID(need({"num_key_value_heads", "num_attention_groups", "num_kv_heads"}));
    }
    if (HasOwnHeadSize(text)) {
      KVCAST_TRY_VOID(need({"head_dim"}));
    } else if (text.Find("head_dim") == nullptr) {
      KVCAST_TRY_VOID(need({"hidden_size", "n_embd", "d_model", "n_embed"}));
    }
  }
  if (!missing.empty()) {
    return text.LeftOut(missing);
  }
  return {};
}

// What is common to all layers, before windows and RoPE tell them apart.
Result<LayerGroup> CommonShape(const ConfigText& text) {
  LayerGroup group;
  KVCAST_TRY(const std::optional<uint32_t> latent, text.Count({"kv_lora_rank"}));
  if (latent) {
    KVCAST_TRY(group.rotary_size, text.NeededCount({"qk_rope_head_dim"}));
    group.attention = Attention::kMla;
    group.kv_heads = 1;
    group.key_size = *latent + group.rotary_size;
    if (group.key_size > kConfigCountMax) {
      return MalformedConfig("A latent has at most 65,536 values.").At(text.Place("kv_lora_rank"));
    }
    return group;
  }
  KVCAST_TRY(const uint32_t heads, text.NeededCount({"num_attention_heads", "n_head"}));
  KVCAST_TRY(const uint32_t kv_heads, KvHeads(text, heads));
  if (heads % kv_heads != 0) {
    return MalformedConfig(std::to_string(heads) + " heads cannot share " +
                           std::to_string(kv_heads) + " KV heads evenly.")
        .At(text.Place(
            text.FirstOf({"num_key_value_heads", "num_attention_groups", "num_kv_heads"})));
  }
  KVCAST_TRY(std::optional<uint32_t> head_size, text.Count({"head_dim"}));
  if (!head_size) {
    KVCAST_TRY(const uint32_t hidden,
               text.NeededCount({"hidden_size", "n_embd", "d_model", "n_embed"}));
    if (hidden % heads != 0) {
      return MalformedConfig("A hidden size of " + std::to_string(hidden) + " is not divided by " +
                             std::to_string(heads) + " heads.")
          .At(text.Place(text.FirstOf({"hidden_size", "n_embd", "d_model", "n_embed"})));
    }
    head_size = hidden / heads;
  }
  KVCAST_TRY(const std::optional<uint32_t> value_size, text.Count({"v_head_dim"}));
  group.attention = kv_heads == heads ? Attention::kMha : Attention::kGqa;
  group.kv_heads = kv_heads;
  group.key_size = *head_size;
  group.value_size = value_size.value_or(*head_size);
  return group;
}

Result<WindowKind> KindOf(const ConfigText& text, const Json& layer_type) {
  if (layer_type == "full_attention" || (layer_type == "attention" && IsGraniteHybrid(text))) {
    return WindowKind::kFull;
  }
  if (layer_type == "sliding_attention") {
    return WindowKind::kSliding;
  }
  if (layer_type == "chunked_attention") {
    return WindowKind::kChunked;
  }
  if (!layer_type.is_string()) {
    return MalformedConfig("\"layer_types\" must be a list of names.");
  }
  return Error(ErrorCode::kUnsupported, "A layer is of type \"" +
                                            Printable(layer_type.get<std::string>()) +
                                            "\", which keeps a state other than a KV cache.");
}

// Llama 4 says by "no_rope_layers" or an interval which of its layers are not chunked.
Result<std::vector<WindowKind>> ChunkedKinds(const ConfigText& text, uint32_t layers) {
  std::vector<WindowKind> kinds(layers, WindowKind::kChunked);
  const Json* turned = text.Find("no_rope_layers");
  if (turned != nullptr && !(turned->is_array() && turned->empty())) {
    if (!turned->is_array() || turned->size() != layers) {
      return MalformedConfig("\"no_rope_layers\" must have a number for each of " +
                             std::to_string(layers) + " layers.")
          .At(text.Place("no_rope_layers"));
    }
    for (uint32_t i = 0; i < layers; ++i) {
      const Json& chunked = (*turned)[i];
      if (chunked != 0 && chunked != 1) {
        return MalformedConfig("\"no_rope_layers\" has a 0 or a 1 for each layer.")
            .At(text.Place("no_rope_layers", i));
      }
      kinds[i] = chunked == 1 ? WindowKind::kChunked : WindowKind::kFull;
    }
    return kinds;
  }
  KVCAST_TRY(const std::optional<uint64_t> said, text.Whole("no_rope_layer_interval"));
  constexpr uint64_t kUsualInterval = 4;
  const uint64_t interval = said.value_or(kUsualInterval);
  if (interval == 0) {
    return MalformedConfig("\"no_rope_layer_interval\" must be at least 1.")
        .At(text.Place("no_rope_layer_interval"));
  }
  for (uint64_t i = interval; i <= layers; i += interval) {
    kinds[i - 1] = WindowKind::kFull;
  }
  return kinds;
}

// One kind per layer: the first rule that applies. Rules ask whether there is a "sliding_window";
// how large it is matters only to layers that slide.
Result<std::vector<WindowKind>> WindowKinds(const ConfigText& text, uint32_t layers) {
  std::vector<WindowKind> kinds(layers, WindowKind::kFull);
  if (const Json* types = text.Find("layer_types")) {
    if (!types->is_array() || types->size() != layers) {
      return MalformedConfig("\"layer_types\" must name " + std::to_string(layers) + " layers.")
          .At(text.Place("layer_types"));
    }
    for (uint32_t i = 0; i < layers; ++i) {
      const Result<WindowKind> kind = KindOf(text, (*types)[i]);
      if (!kind.ok()) {
        return Error(kind.error()).At(text.Place("layer_types", i));
      }
      kinds[i] = *kind;
    }
    return kinds;
  }
  if (text.Find("attention_chunk_size") != nullptr) {
    return ChunkedKinds(text, layers);
  }
  KVCAST_TRY(const std::optional<bool> slides, text.Flag("use_sliding_window"));
  if (!slides.value_or(true) || text.Find("sliding_window") == nullptr) {
    return kinds;
  }
  KVCAST_TRY(const std::optional<uint64_t> full_layers, text.Whole("max_window_layers"));
  if (full_layers) {
    for (uint64_t i = *full_layers; i < layers; ++i) {
      kinds[i] = WindowKind::kSliding;
    }
    return kinds;
  }
  KVCAST_TRY(std::optional<uint64_t> pattern, text.Whole("sliding_window_pattern"));
  if (pattern == 0) {
    return MalformedConfig("\"sliding_window_pattern\" must be at least 1.")
        .At(text.Place("sliding_window_pattern"));
  }
  if (!pattern) {
    pattern = UsualWindowPattern(text);
  }
  for (uint32_t i = 0; i < layers; ++i) {
    const bool full = pattern && (i + 1) % *pattern == 0;
    kinds[i] = full ? WindowKind::kFull : WindowKind::kSliding;
  }
  return kinds;
}

Result<uint32_t> WindowOf(const ConfigText& text, WindowKind kind) {
  switch (kind) {
    case WindowKind::kFull:
      return 0u;
    case WindowKind::kSliding:
      return text.NeededCount({"sliding_window"}, UINT32_MAX);
    case WindowKind::kChunked:
      return text.NeededCount({"attention_chunk_size"}, UINT32_MAX);
  }
  return 0u;
}

// The parameters that turn the keys of layers of one kind.
Result<Json> RopeOf(const ConfigText& text, WindowKind kind) {
  if (const Json* parameters = text.Find("rope_parameters");
      parameters != nullptr && parameters->is_object()) {
    const auto own = parameters->find(std::string(ToString(kind)) + "_attention");
    return own != parameters->end() && own->is_object() ? *own : *parameters;
  }
  Json rope = Json::object();
  const Json* local = kind == WindowKind::kSliding ? text.Find("rope_local_base_freq") : nullptr;
  if (local != nullptr) {
    rope["rope_theta"] = *local;
    return rope;
  }
  for (const char* name : {"rope_theta", "rope_scaling"}) {
    if (const Json* found = text.Find(name)) {
      rope[name] = *found;
    }
  }
  return rope;
}

Result<uint32_t> RotarySize(const ConfigText& text, const Json& rope, uint32_t key_size) {
  const Json* factor = nullptr;
  std::string_view place;
  for (const char* name : {"partial_rotary_factor", "rotary_pct"}) {
    if (factor == nullptr) {
      factor = text.Find(name);
      place = name;
    }
  }
  if (const auto own = rope.find("partial_rotary_factor"); own != rope.end() && !own->is_null()) {
    factor = &*own;
    place = "rope_parameters";
  } else {
    KVCAST_TRY(const std::optional<uint32_t> turned, text.Count({"rotary_dim"}, key_size));
    if (turned) {
      return *turned;
    }
  }
  if (factor == nullptr) {
    return key_size;
  }
  if (!factor->is_number() || factor->get<double>() < 0 || factor->get<double>() > 1) {
    return MalformedConfig("\"partial_rotary_factor\" must lie between 0 and 1.")
        .At(text.Place(place));
  }
  return static_cast<uint32_t>(std::floor(key_size * factor->get<double>()));
}

Result<std::vector<LayerGroup>> Groups(const ConfigText& text) {
  // A layer of LongCat has two attentions, and says "num_layers" only.
  const bool latent = text.Find("kv_lora_rank") != nullptr;
  KVCAST_TRY_VOID(CheckCounts(text, latent));
  KVCAST_TRY(
      const uint32_t layers,
      latent ? text.NeededCount({"num_hidden_layers", "n_layer"}, kConfigLayersMax)
             : text.NeededCount({"num_hidden_layers", "n_layer", "num_layers"}, kConfigLayersMax));
  KVCAST_TRY(const LayerGroup common, CommonShape(text));
  KVCAST_TRY(const std::vector<WindowKind> kinds, WindowKinds(text, layers));
  std::vector<LayerGroup> groups;
  std::array<std::optional<size_t>, 3> group_of_kind;
  for (uint32_t i = 0; i < layers; ++i) {
    std::optional<size_t>& known = group_of_kind[static_cast<size_t>(kinds[i])];
    if (!known) {
      LayerGroup group = common;
      group.window_kind = kinds[i];
      KVCAST_TRY(group.window, WindowOf(text, kinds[i]));
      KVCAST_TRY(const Json rope, RopeOf(text, kinds[i]));
      if (group.attention != Attention::kMla) {
        KVCAST_TRY(group.rotary_size, RotarySize(text, rope, group.key_size));
      }
      group.rope = CanonicalValue(rope);
      known = groups.size();
      groups.push_back(std::move(group));
    }
    groups[*known].layers.push_back(i);
  }
  return groups;
}

bool ChangesNoKv(const std::string& name) {
  constexpr std::string_view kNames[] = {
      "transformers_version", "torch_dtype",  "dtype",       "use_cache",
      "bos_token_id",         "eos_token_id", "pad_token_id"};
  return name.starts_with('_') || std::ranges::find(kNames, name) != std::end(kNames);
}

Json WithoutNoise(const Json& object) {
  Json kept = Json::object();
  for (const auto& member : object.items()) {
    if (!ChangesNoKv(member.key())) {
      kept[member.key()] = member.value();
    }
  }
  return kept;
}

}  // namespace

Result<ModelConfig> ModelConfig::Parse(std::string_view json) {
  KVCAST_TRY(const Json whole, ParseJson(json));
  if (!whole.is_object()) {
    return MalformedConfig("A model's configuration is a JSON object.").At(JsonPlace(json, {}));
  }
  const auto nested = whole.find("text_config");
  const bool has_text = nested != whole.end() && nested->is_object();
  const ConfigText all(whole, json, "");
  const ConfigText text = has_text ? ConfigText(*nested, json, "text_config") : all;

  for (const ConfigText& part : {all, text}) {
    KVCAST_TRY_VOID(RefuseUnknownCache(part));
    KVCAST_TRY_VOID(RefuseBeyondPrefix(part));
    KVCAST_TRY_VOID(RefuseFamilyCache(part, text));
  }
  ModelConfig config;
  KVCAST_TRY(config.groups, Groups(text));
  Json kept = WithoutNoise(whole);
  if (has_text) {
    kept["text_config"] = WithoutNoise(*nested);
  }
  config.digest = Sha256::Of(CanonicalValue(kept));
  config.kv_dtype = UsualKvDtype(all, text);
  return config;
}

}  // namespace kvcast
