#include "kvcast/kv/causal_cache.h"

#include <algorithm>
#include <iterator>

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
    return Error(ErrorCode::kUnsupported,
                 "RoPE of type \"" + Printable(type) +
                     "\" turns keys by the length of the whole prompt: the KV of a prefix is not "
                     "the same in every prompt, so it cannot be shared. Serve the model without "
                     "that scaling, and take it out here.")
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
    return Error(ErrorCode::kUnsupported,
                 "\"" + Printable(*name) +
                     "\" turns keys by the length of the whole prompt: the KV of a prefix is not "
                     "the same in every prompt, so it cannot be shared.")
        .At(text.Place(*name));
  }
  return {};
}

Result<void> RefuseFamilies(const ConfigText& text) {
  if (const Json* classes = text.Find("architectures"); classes != nullptr && classes->is_array()) {
    for (size_t i = 0; i < classes->size(); ++i) {
      const Json& each = (*classes)[i];
      if (each.is_string() && Has(each.get_ref<const std::string&>(), "ForMaskedLM")) {
        return AttendsToLaterTokens(each.get_ref<const std::string&>())
            .At(text.Place("architectures", i));
      }
    }
  }
  constexpr std::string_view kFamilies[] = {"Dream", "chatglm", "llada"};
  const std::string_view family = text.Word("model_type");
  const Json* decoder = text.Find("is_decoder");
  const bool is_encoder =
      Has(family, "bert") && !Has(family, "decoder") && (decoder == nullptr || *decoder != true);
  if (is_encoder || Has(family, "diffusion") || Has(family, "paligemma") ||
      std::ranges::find(kFamilies, family) != std::end(kFamilies)) {
    return AttendsToLaterTokens(family).At(text.Place("model_type"));
  }
  return {};
}

}  // namespace

Result<void> RefuseBeyondPrefix(const ConfigText& text) {
  KVCAST_TRY_VOID(RefuseRopeByLength(text, "rope_scaling"));
  KVCAST_TRY_VOID(RefuseRopeByLength(text, "rope_parameters"));
  KVCAST_TRY_VOID(RefuseFlags(text));
  return RefuseFamilies(text);
}

}  // namespace kvcast
