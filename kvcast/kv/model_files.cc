#include "kvcast/kv/model_files.h"

#include <algorithm>
#include <initializer_list>
#include <iterator>
#include <nlohmann/json.hpp>

#include "kvcast/base/hex.h"
#include "kvcast/base/json.h"
#include "kvcast/base/json_place.h"

namespace kvcast {
namespace {

constexpr std::string_view kWholeWeightsFile = "model.safetensors";
constexpr std::string_view kAdapterFiles[] = {"adapter_config.json", "adapter_model.safetensors"};
// Rows of an embedding that an adapter brings along, in the format we read and in the one we do
// not.
constexpr std::string_view kNewEmbeddings = "new_embeddings.safetensors";
constexpr std::string_view kOldEmbeddings = "new_embeddings.bin";
constexpr JsonLimits kIndexLimits{.bytes_max = kWeightIndexBytesMax, .values_max = 4'000'000};

bool IsPlainName(std::string_view name) {
  return !name.empty() && name != "." && name != ".." &&
         name.find_first_of(std::string_view("/\0", 2)) == std::string_view::npos;
}

// The distinct files that a weight index names, all of which are in the folder.
Result<FileNames> IndexedFiles(const FileNames& folder, std::string_view index) {
  KVCAST_TRY(const Json json, ParseJson(index, kIndexLimits));
  const auto map = json.is_object() ? json.find("weight_map") : json.end();
  if (!json.is_object() || map == json.end() || !map->is_object() || map->empty()) {
    return Error(ErrorCode::kMalformed, "It has no \"weight_map\" that names files.")
        .At(JsonPlace(index, {"weight_map"}));
  }
  FileNames names;
  for (const auto& [tensor, file] : map->items()) {
    if (!file.is_string() || !IsPlainName(file.get_ref<const std::string&>())) {
      return Error(ErrorCode::kMalformed,
                   "\"weight_map\" names something else than a file beside it.")
          .At(JsonPlace(index, {"weight_map", tensor}));
    }
    const std::string& name = file.get_ref<const std::string&>();
    if (!name.ends_with(".safetensors")) {
      return Error(ErrorCode::kMalformed,
                   "\"" + Printable(name) + "\", which it names, holds no weights (*.safetensors).")
          .At(JsonPlace(index, {"weight_map", tensor}));
    }
    if (!folder.contains(name)) {
      return Error(ErrorCode::kNotFound,
                   "\"" + Printable(name) + "\", which it names, is not in its folder.")
          .At(JsonPlace(index, {"weight_map", tensor}));
    }
    names.insert(name);
  }
  return names;
}

// "model-00001-of-00002.safetensors".
bool IsPartOfWeights(std::string_view name) {
  constexpr std::string_view kEnd = ".safetensors";
  constexpr std::string_view kDigits = "0123456789";
  if (!name.ends_with(kEnd)) {
    return false;
  }
  name.remove_suffix(kEnd.size());
  const auto drop_number = [&] {
    const size_t before = name.size();
    name.remove_suffix(before - (name.find_last_not_of(kDigits) + 1));
    return name.size() < before;
  };
  const auto drop_word = [&](std::string_view word) {
    const bool has = name.ends_with(word);
    name.remove_suffix(has ? word.size() : 0);
    return has;
  };
  return drop_number() && drop_word("-of-") && drop_number() && drop_word("-");
}

std::vector<std::string> ListOf(const FileNames& names) { return {names.begin(), names.end()}; }

// All weights in the folder but an adapter's.
FileNames WeightsOf(const FileNames& folder) {
  FileNames weights;
  for (const std::string& name : folder) {
    if (name.ends_with(".safetensors") && name != kAdapterFiles[1] && name != kNewEmbeddings) {
      weights.insert(name);
    }
  }
  return weights;
}

// The weights once more, in the format of Mistral's own programs: an engine takes either.
bool IsOtherFormat(std::string_view name) { return name.starts_with("consolidated"); }

// Weights that an engine might load beside those that are named, for some load all that they find.
Result<void> CheckNoOthers(const FileNames& weights, const FileNames& named) {
  for (const std::string& name : weights) {
    if (!named.contains(name) && !IsOtherFormat(name)) {
      return Error(ErrorCode::kInvalid,
                   "\"" + Printable(name) +
                       "\" lies beside the weights and is none of them, by "
                       "model.safetensors.index.json or by its name: an engine may load it or "
                       "not. Move away what it does not load.");
    }
  }
  return {};
}

Result<void> CheckNoParts(const FileNames& weights) {
  const bool other_format_only = std::ranges::all_of(weights, IsOtherFormat);
  for (const std::string& name : weights) {
    if (IsPartOfWeights(name) && (other_format_only || !IsOtherFormat(name))) {
      return Error(ErrorCode::kNotFound,
                   "\"" + Printable(name) +
                       "\" is a part of weights, and model.safetensors.index.json, which names all "
                       "parts, is missing: this looks like half a download.");
    }
  }
  return {};
}

}  // namespace

Result<std::vector<std::string>> WeightFiles(const FileNames& folder,
                                             std::optional<std::string_view> index) {
  const FileNames weights = WeightsOf(folder);
  if (index) {
    Result<FileNames> named = IndexedFiles(folder, *index);
    if (!named.ok()) {
      return std::move(named).error().In(kWeightIndexFile);
    }
    KVCAST_TRY_VOID(CheckNoOthers(weights, *named));
    return ListOf(*named);
  }
  KVCAST_TRY_VOID(CheckNoParts(weights));
  if (folder.contains(kWholeWeightsFile)) {
    const FileNames whole = {std::string(kWholeWeightsFile)};
    KVCAST_TRY_VOID(CheckNoOthers(weights, whole));
    return ListOf(whole);
  }
  if (weights.empty()) {
    return Error(ErrorCode::kNotFound,
                 "There are no weights (*.safetensors) in the model's folder.");
  }
  return ListOf(weights);
}

Result<std::vector<std::string>> TokenizerFiles(const FileNames& folder) {
  for (const char* name : {"tokenizer.json", "tokenizer.model"}) {
    if (folder.contains(name)) {
      return std::vector<std::string>{name};
    }
  }
  if (folder.contains("merges.txt") && folder.contains("vocab.json")) {
    return std::vector<std::string>{"merges.txt", "vocab.json"};
  }
  for (const char* name : {"tiktoken.model", "tekken.json"}) {
    if (folder.contains(name)) {
      return std::vector<std::string>{name};
    }
  }
  return Error(ErrorCode::kNotFound,
               "There is no tokenizer in the model's folder: tokenizer.json, tokenizer.model, "
               "merges.txt and vocab.json, tiktoken.model, or tekken.json.");
}

Result<std::vector<std::string>> AdapterFiles(const FileNames& folder) {
  for (const std::string_view name : kAdapterFiles) {
    if (!folder.contains(name)) {
      return Error(ErrorCode::kNotFound, "There is no " + std::string(name) +
                                             ": a LoRA adapter's folder holds "
                                             "adapter_config.json and adapter_model.safetensors.");
    }
  }
  if (folder.contains(kOldEmbeddings)) {
    return Error(ErrorCode::kUnsupported,
                 "The adapter brings along new_embeddings.bin, a format that kvcast does not read: "
                 "new_embeddings.safetensors is the same without code in it.");
  }
  std::vector<std::string> files(std::begin(kAdapterFiles), std::end(kAdapterFiles));
  if (folder.contains(kNewEmbeddings)) {
    files.emplace_back(kNewEmbeddings);
  }
  return files;
}

Result<void> CheckAdapterConfig(std::string_view text) {
  KVCAST_TRY(const Json config, ParseJson(text));
  if (!config.is_object()) {
    return Error(ErrorCode::kMalformed, "An adapter's configuration is a JSON object.").At(0);
  }
  const auto is_there = [&](const char* name) {
    const auto found = config.find(name);
    return found != config.end() && !found->is_null();
  };
  const auto refuse = [&](const char* name, const std::string& why) {
    return Error(ErrorCode::kUnsupported, "\"" + std::string(name) + "\": " + why)
        .At(JsonPlace(text, {name}));
  };
  if (is_there("peft_type") && *config.find("peft_type") != "LORA") {
    return refuse("peft_type", "kvcast knows adapters of the kind \"LORA\" only.");
  }
  if (is_there("alora_invocation_tokens")) {
    return refuse("alora_invocation_tokens",
                  "such an adapter begins where these tokens come last: the KV of a prefix depends "
                  "on what comes after it, so it cannot be shared.");
  }
  if (is_there("layer_replication")) {
    return refuse("layer_replication",
                  "the adapter makes a model of other layers than config.json tells of.");
  }
  return {};
}

Result<void> CheckNoAdapter(const FileNames& folder) {
  for (const std::string_view name :
       {kAdapterFiles[0], kAdapterFiles[1], kNewEmbeddings, kOldEmbeddings}) {
    if (folder.contains(name)) {
      return Error(ErrorCode::kInvalid,
                   "An adapter's " + std::string(name) +
                       " lies in the model's folder: an engine may load it or not. If it does, "
                       "name its folder with --adapter; if not, move it away.");
    }
  }
  return {};
}

}  // namespace kvcast
