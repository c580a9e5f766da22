#include "kvcast/kv/model_files.h"

#include <initializer_list>
#include <nlohmann/json.hpp>

#include "kvcast/base/hex.h"
#include "kvcast/base/json.h"
#include "kvcast/base/json_place.h"

namespace kvcast {
namespace {

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

std::vector<std::string> ListOf(const FileNames& names) { return {names.begin(), names.end()}; }

}  // namespace

Result<std::vector<std::string>> WeightFiles(const FileNames& folder,
                                             std::optional<std::string_view> index) {
  if (index) {
    Result<FileNames> named = IndexedFiles(folder, *index);
    if (!named.ok()) {
      return std::move(named).error().In(kWeightIndexFile);
    }
    return ListOf(*named);
  }
  if (folder.contains("model.safetensors")) {
    return std::vector<std::string>{"model.safetensors"};
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
  return Error(ErrorCode::kNotFound,
               "There is no tokenizer in the model's folder: tokenizer.json, tokenizer.model, or "
               "merges.txt and vocab.json.");
}

Result<std::vector<std::string>> AdapterFiles(const FileNames& folder) {
  const FileNames wanted = {"adapter_config.json", "adapter_model.safetensors"};
  for (const std::string& name : wanted) {
    if (!folder.contains(name)) {
      return Error(ErrorCode::kNotFound, "There is no " + name +
                                             ": a LoRA adapter's folder holds "
                                             "adapter_config.json and adapter_model.safetensors.");
    }
  }
  return ListOf(wanted);
}

}  // namespace kvcast
