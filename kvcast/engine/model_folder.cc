#include "kvcast/engine/model_folder.h"

#include <map>
#include <nlohmann/json.hpp>
#include <span>
#include <system_error>
#include <vector>

#include "kvcast/base/hex.h"
#include "kvcast/base/json.h"
#include "kvcast/io/file.h"
#include "kvcast/io/file_digest.h"
#include "kvcast/io/progress.h"
#include "kvcast/io/terminal_log.h"
#include "kvcast/kv/config_dtype.h"
#include "kvcast/kv/model_config.h"
#include "kvcast/kv/model_files.h"
#include "kvcast/kv/safetensors.h"

namespace kvcast {
namespace {

// A config is a few kilobytes, and parsed it takes thirty times its bytes.
constexpr size_t kPointerBytesMax = 1024;
constexpr std::string_view kAdapter = "An adapter";
constexpr std::string_view kModel = "A model";

Result<FileNames> NamesIn(const std::filesystem::path& folder, std::string_view what) {
  FileNames names;
  std::error_code error;
  for (std::filesystem::directory_iterator at(folder, error), end; !error && at != end;
       at.increment(error)) {
    names.insert(at->path().filename().string());
  }
  if (error) {
    return Error(ErrorCode::kNotFound,
                 what == kAdapter
                     ? "The folder of an adapter cannot be read: " + error.message() +
                           ". It holds adapter_config.json and adapter_model.safetensors."
                     : "The folder of a model cannot be read: " + error.message() +
                           ". It holds config.json, weights and tokenizer.")
        .In(folder.string());
  }
  return names;
}

Result<Digest> DigestOf(const std::filesystem::path& folder,
                        const std::vector<std::string>& names) {
  TerminalLog log;
  std::vector<Digest> digests;
  for (const std::string& name : names) {
    Progress progress("Hashing " + name + ", once");
    DigestOptions options;
    options.log = Log(&log, "io");
    options.progress = [&](uint64_t done, uint64_t total) { progress.Update(done, total); };
    KVCAST_TRY(const Digest digest, DigestFile(folder / name, options));
    progress.Done();
    digests.push_back(digest);
  }
  return DigestOfFiles(digests);
}

// What went wrong, and in which folder.
template <typename T>
Result<T> In(const std::filesystem::path& folder, Result<T> result) {
  if (!result.ok()) {
    return std::move(result).error().In(folder.string());
  }
  return result;
}

Result<ModelConfig> ConfigIn(const std::filesystem::path& folder) {
  const std::filesystem::path path = folder / "config.json";
  KVCAST_TRY(const std::string text, ReadRegularFile(path, kModelConfigBytesMax));
  return In(path, ModelConfig::Parse(text));
}

// What an engine computes KV in where nobody tells it.
Result<KvDtype> KvDtypeIn(const std::filesystem::path& folder, const FileNames& names,
                          const ModelConfig& config) {
  if (names.contains(kQuantConfigFile)) {
    const std::filesystem::path path = folder / kQuantConfigFile;
    KVCAST_TRY(const std::string text, ReadRegularFile(path, kModelConfigBytesMax));
    KVCAST_TRY_VOID(In(path, CheckQuantConfig(text)));
  }
  return In(folder / "config.json", config.kv_dtype);
}

Result<void> CheckNoPointer(const std::filesystem::path& path, std::string_view what) {
  KVCAST_TRY(const std::string text, ReadRegularFile(path, kPointerBytesMax));
  std::string wrong;
  if (text.empty()) {
    wrong = std::string(what) + " is expected here, and the file is empty.";
  } else if (text.starts_with("version ") && text.find("\noid sha256:") != std::string::npos) {
    wrong = "This is a Git LFS pointer and not what it stands for: git lfs pull brings it.";
  }
  if (!wrong.empty()) {
    return Error(ErrorCode::kMalformed, wrong).At(0).In(path.string());
  }
  return {};
}

// The tensors of the parts that were looked at, and which part each is in.
using SeenTensors = std::map<std::string, std::string, std::less<>>;

// Length and header of a file of tensors. They are read and not mapped: it lies in the process of
// an engine, which would end if somebody cut the file meanwhile.
Result<FileFront> FrontOf(const std::filesystem::path& path) {
  KVCAST_TRY(const FileFront length, ReadFront(path, Safetensors::kLengthBytes));
  KVCAST_TRY(
      const size_t bytes,
      In(path, Safetensors::FrontBytes(std::as_bytes(std::span(length.bytes)), length.file_bytes)));
  return ReadFront(path, bytes);
}

// An adapter's parts have nothing to do with each other.
Result<void> CheckWeights(const std::filesystem::path& path, bool is_adapter, SeenTensors& seen) {
  KVCAST_TRY(const FileFront weights, FrontOf(path));
  const std::span<const std::byte> front = std::as_bytes(std::span(weights.bytes));
  KVCAST_TRY(const std::vector<std::string> tensors,
             In(path, Safetensors::CheckWhole(front, weights.file_bytes)));
  for (const std::string& tensor : tensors) {
    const auto [at, is_new] = seen.try_emplace(tensor, path.filename().string());
    if (!is_new && !is_adapter) {
      return Error(ErrorCode::kMalformed, "\"" + Printable(tensor) + "\" is in " +
                                              Printable(at->second) +
                                              " too: which one counts depends on the engine.")
          .At(Safetensors::PlaceIn(front, tensor))
          .In(path.string());
    }
  }
  return {};
}

// A clone without Git LFS, or half a download, would get a name that no other host has.
Result<void> CheckWhole(const std::filesystem::path& folder, const std::vector<std::string>& files,
                        std::string_view what) {
  SeenTensors seen;
  for (const std::string& file : files) {
    const std::filesystem::path path = folder / file;
    std::error_code error;
    const uintmax_t bytes = std::filesystem::file_size(path, error);
    if (error) {
      continue;  // Whoever reads it says what is wrong.
    }
    if (bytes <= kPointerBytesMax) {
      KVCAST_TRY_VOID(CheckNoPointer(path, what));
    }
    if (file.ends_with(".safetensors")) {
      KVCAST_TRY_VOID(CheckWeights(path, what == kAdapter, seen));
    } else if (file.ends_with(".json") && what == kAdapter) {
      KVCAST_TRY(const std::string text, ReadRegularFile(path, kModelConfigBytesMax));
      KVCAST_TRY_VOID(In(path, CheckAdapterConfig(text)));
    }
  }
  return {};
}

// Whether the adapter that is named lies beside the model itself.
bool IsSameFolder(const std::filesystem::path& folder,
                  const std::optional<std::filesystem::path>& adapter) {
  std::error_code error;
  return adapter && std::filesystem::equivalent(folder, *adapter, error);
}

Result<Digest> WeightsIn(const std::filesystem::path& folder, const FileNames& names) {
  std::optional<std::string> index;
  if (names.contains(kWeightIndexFile)) {
    KVCAST_TRY(index, ReadRegularFile(folder / kWeightIndexFile, kWeightIndexBytesMax));
  }
  KVCAST_TRY(const std::vector<std::string> files, In(folder, WeightFiles(names, index)));
  KVCAST_TRY_VOID(CheckWhole(folder, files, "A part of the weights"));
  return DigestOf(folder, files);
}

}  // namespace

std::string ModelFolder::NameOf(const std::filesystem::path& folder) {
  std::error_code error;
  const std::filesystem::path whole = std::filesystem::weakly_canonical(folder, error);
  const std::string name = (error ? folder : whole).filename().string();
  return name.empty() ? "model" : name;
}

Result<ModelFolder> ModelFolder::Load(const std::filesystem::path& folder,
                                      const ModelOptions& options) {
  KVCAST_TRY(const FileNames names, NamesIn(folder, kModel));
  if (!IsSameFolder(folder, options.adapter)) {
    KVCAST_TRY_VOID(In(folder, CheckNoAdapter(names)));
  }
  KVCAST_TRY(ModelConfig config, ConfigIn(folder));
  ModelFolder model;
  model.name = NameOf(folder);
  ModelDescription& description = model.description;
  KVCAST_TRY(description.kv_dtype, options.kv_dtype.empty() ? KvDtypeIn(folder, names, config)
                                                            : KvDtypeOf(options.kv_dtype));
  KVCAST_TRY(description.block_tokens, BlockTokensOf(options.block_tokens));
  description.groups = std::move(config.groups);
  description.config = config.digest;
  KVCAST_TRY(const std::vector<std::string> tokenizer, In(folder, TokenizerFiles(names)));
  KVCAST_TRY_VOID(CheckWhole(folder, tokenizer, "A tokenizer"));
  KVCAST_TRY(description.tokenizer, DigestOf(folder, tokenizer));
  if (options.adapter) {
    KVCAST_TRY(const FileNames adapter_names, NamesIn(*options.adapter, kAdapter));
    KVCAST_TRY(const std::vector<std::string> adapter,
               In(*options.adapter, AdapterFiles(adapter_names)));
    KVCAST_TRY_VOID(CheckWhole(*options.adapter, adapter, kAdapter));
    KVCAST_TRY(description.adapter, DigestOf(*options.adapter, adapter));
  }
  KVCAST_TRY(description.weights, WeightsIn(folder, names));
  return model;
}

}  // namespace kvcast
