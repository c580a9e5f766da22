#include "kvcast/kv/causal_cache.h"

#include <algorithm>
#include <string>

#include "kvcast/base/hex.h"
#include "kvcast/kv/canonical_value.h"

namespace kvcast {
namespace {

bool Has(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

bool IsThere(const Json& object, const char* name) {
  const auto found = object.find(name);
  return found != object.end() && !found->is_null();
}

// Scaling for long prompts with one list of factors under both names turns all keys alike.
bool HasOneListOfFactors(const Json& rope) {
  const auto for_short = rope.find("short_factor");
  const auto for_long = rope.find("long_factor");
  return for_short != rope.end() && for_long != rope.end() && for_short->is_array() &&
         !for_short->empty() && CanonicalValue(*for_short) == CanonicalValue(*for_long) &&
         !IsThere(rope, "short_mscale") && !IsThere(rope, "long_mscale");
}

// The type of a scaling that turns keys by the length of the whole prompt; empty for others.
std::string TypeThatFollowsTheLength(const Json& rope) {
  for (const char* name : {"type", "rope_type"}) {
    const auto found = rope.find(name);
    if (found == rope.end() || !found->is_string()) {
      continue;
    }
    const std::string& type = found->get_ref<const std::string&>();
    if (Has(type, "dynamic") ||
        ((Has(type, "longrope") || type == "su") && !HasOneListOfFactors(rope))) {
      return type;
    }
  }
  return "";
}

constexpr std::string_view kWithoutScaling =
    " Serve the model without that scaling, and take it out here.";
// Models are trained with one of the lists, so that none can be served without them.
constexpr std::string_view kWithOneList =
    " Where the engine takes one list of factors for all prompts, as one does that is held to "
    "\"original_max_position_embeddings\", write that list in as \"short_factor\" and as "
    "\"long_factor\".";

Error NotByPrefix(const std::string& what, std::string_view what_to_do = "") {
  return Error(ErrorCode::kUnsupported, what +
                                            ": the KV of a prefix is not the same in every prompt, "
                                            "so it cannot be shared." +
                                            std::string(what_to_do));
}

Error TurnsByLength(const std::string& what, std::string_view what_to_do = "") {
  return NotByPrefix(what + " turns keys by the length of the whole prompt", what_to_do);
}

Result<void> RefuseRopeByLength(const ConfigText& text, std::string_view name) {
  const Json* rope = text.Find(name);
  if (rope == nullptr || !rope->is_object()) {
    return {};
  }
  std::string type = TypeThatFollowsTheLength(*rope);
  for (const auto& member : rope->items()) {  // One per kind of layers, in newer files.
    if (type.empty() && member.value().is_object()) {
      type = TypeThatFollowsTheLength(member.value());
    }
  }
  if (!type.empty()) {
    return TurnsByLength("RoPE of type \"" + Printable(type) + "\"",
                         Has(type, "dynamic") ? kWithoutScaling : kWithOneList)
        .At(text.Place(name));
  }
  return {};
}

Error AttendsToLaterTokens(std::string_view who) {
  return Error(ErrorCode::kUnsupported,
               "\"" + Printable(who) +
                   "\" says that tokens attend to later ones: the KV of a prefix depends on what "
                   "comes after it, so it cannot be shared.");
}

Result<void> RefuseFlags(const ConfigText& text) {
  const auto is_set = [](std::string_view name, const Json& value) {
    return value != false && (Has(name, "bidirectional") || Has(name, "prefix_lm"));
  };
  if (const std::optional<std::string> name = text.FirstWhere(is_set)) {
    return AttendsToLaterTokens(*name).At(text.Place(*name));
  }
  if (const Json* causal = text.Find("is_causal"); causal != nullptr && *causal != true) {
    return AttendsToLaterTokens("is_causal").At(text.Place("is_causal"));
  }
  const auto turns_by_length = [](std::string_view name, const Json& value) {
    return value != false && Has(name, "use_dynamic_ntk");
  };
  if (const std::optional<std::string> name = text.FirstWhere(turns_by_length)) {
    return TurnsByLength("\"" + Printable(*name) + "\"").At(text.Place(*name));
  }
  return {};
}

// Attention that is sparse, or scaled, from some length of the prompt on.
Result<void> RefuseSparseByLength(const ConfigText& text) {
  const auto refuse = [&](std::string_view name) {
    return NotByPrefix("\"" + std::string(name) + "\" makes attention another one in long prompts")
        .At(text.Place(name));
  };
  if (const Json* sparse = text.Find("sparse_config")) {
    const auto length = sparse->is_object() ? sparse->find("dense_len") : sparse->end();
    // The library would take 2^64 - 1 for -1.
    const bool always =
        length != sparse->end() && !length->is_number_unsigned() && length.value() == -1;
    if (!always) {
      return refuse("sparse_config");
    }
  }
  if (const Json* chunks = text.Find("dual_chunk_attention_config")) {
    const auto is = [&](const char* name, const Json& value) {
      const auto found = chunks->find(name);
      return found != chunks->end() && *found == value;
    };
    const char* const length = "original_max_position_embeddings";
    if (!chunks->is_object() || !is("sparse_attention_enabled", false) ||
        (IsThere(*chunks, length) && !is(length, 0))) {
      return refuse("dual_chunk_attention_config");
    }
  }
  return {};
}

// Parts of the names of families and classes whose tokens attend to later ones, in small letters.
constexpr std::string_view kAttendToLater[] = {"chatglm", "diffusion", "dllm", "dream",
                                               "llada",   "paligemma", "sdar"};

// The same of families whose code scales RoPE by the length of the prompt, whatever their files
// say.
constexpr std::string_view kTurnsByLength = "telechat";

bool AttendsToLater(std::string_view folded) {
  return std::ranges::any_of(kAttendToLater,
                             [&](std::string_view word) { return Has(folded, word); });
}

Result<void> RefuseFamilies(const ConfigText& text) {
  if (const Json* classes = text.Find("architectures"); classes != nullptr && classes->is_array()) {
    for (size_t i = 0; i < classes->size(); ++i) {
      const Json& each = (*classes)[i];
      const std::string name =
          each.is_string() ? ConfigText::Folded(each.get_ref<const std::string&>()) : "";
      if (Has(name, "formaskedlm") || AttendsToLater(name)) {
        return AttendsToLaterTokens(each.get_ref<const std::string&>())
            .At(text.Place("architectures", i));
      }
    }
  }
  const std::string family = text.Family();
  if (Has(family, kTurnsByLength)) {
    return TurnsByLength("\"" + Printable(text.Word("model_type")) + "\"")
        .At(text.Place("model_type"));
  }
  const Json* decoder = text.Find("is_decoder");
  const bool is_encoder =
      Has(family, "bert") && !Has(family, "decoder") && (decoder == nullptr || *decoder != true);
  if (is_encoder || AttendsToLater(family)) {
    return AttendsToLaterTokens(text.Word("model_type")).At(text.Place("model_type"));
  }
  return {};
}

}  // namespace

Result<void> RefuseBeyondPrefix(const ConfigText& text) {
  KVCAST_TRY_VOID(RefuseRopeByLength(text, "rope_scaling"));
  KVCAST_TRY_VOID(RefuseRopeByLength(text, "rope_parameters"));
  KVCAST_TRY_VOID(RefuseFlags(text));
  KVCAST_TRY_VOID(RefuseSparseByLength(text));
  return RefuseFamilies(text);
}

}  // namespace kvcast
