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

bool IsPlainName(std::string_view name) {
  return !name.empty() && name != "." && name != ".." &&
         name.find_first_of(std::string_view("/\0", 2)) == std::string_view::npos;
}

// The distinct files that a weight index names, all of which are in the folder.
Result<FileNames> IndexedFiles(const FileNames& folder, std::string_view index) {
  KVCAST_TRY(const Json json, ParseJson(index));
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

}  // namespace

Result<std::vector<std::string>> WeightFiles(const FileNames& folder,
                                             std::optional<std::string_view> index) {
  if (index) {
    Result<FileNames> named = IndexedFiles(folder, *index);
    if (!named.ok()) {
      return std::move(named).error().In(kWeightIndexFile);
    }
    if (folder.contains(kWholeWeightsFile) && !named->contains(kWholeWeightsFile)) {
      return Error(ErrorCode::kInvalid,
                   "It does not name model.safetensors, which lies beside it: an engine may load "
                   "either. Move away what it does not load.")
          .In(kWeightIndexFile);
    }
    return ListOf(*named);
  }
  if (const auto part = std::ranges::find_if(folder, IsPartOfWeights); part != folder.end()) {
    return Error(ErrorCode::kNotFound,
                 "\"" + Printable(*part) +
                     "\" is a part of weights, and model.safetensors.index.json, which names all "
                     "parts, is missing: this looks like half a download.");
  }
  if (folder.contains(kWholeWeightsFile)) {
    return std::vector<std::string>{std::string(kWholeWeightsFile)};
  }
  FileNames found;
  for (const std::string& name : folder) {
    if (name.ends_with(".safetensors") && !name.starts_with("adapter_")) {
      found.insert(name);
    }
  }
  if (found.empty()) {
    return Error(ErrorCode::kNotFound,
                 "There are no weights (*.safetensors) in the model's folder.");
  }
  return ListOf(found);
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
  return std::vector<std::string>(std::begin(kAdapterFiles), std::end(kAdapterFiles));
}

Result<void> CheckNoAdapter(const FileNames& folder) {
  for (const std::string_view name : kAdapterFiles) {
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
