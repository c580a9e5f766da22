#pragma once

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "kvcast/base/result.h"

namespace kvcast {

// Which files of a model's folder go into its digests; see docs/reference/names.md. Names come
// back in ascending byte order, the order in which DigestOfFiles() takes their digests.
using FileNames = std::set<std::string, std::less<>>;

inline constexpr std::string_view kWeightIndexFile = "model.safetensors.index.json";
inline constexpr size_t kModelConfigBytesMax = 2 * 1024 * 1024;
// An index names every tensor: 207,360 of them in 20 MB for 384 experts in each of 60 layers.
inline constexpr size_t kWeightIndexBytesMax = 128 * 1024 * 1024;

// `index` is the content of kWeightIndexFile, if that is in the folder.
Result<std::vector<std::string>> WeightFiles(const FileNames& folder,
                                             std::optional<std::string_view> index);
// An adapter's files in a model's folder: some engines load them unasked, others never do. Invalid:
// there are some. For whoever was not told that the folder is the adapter's too, before anything
// else.
Result<void> CheckNoAdapter(const FileNames& folder);
Result<std::vector<std::string>> TokenizerFiles(const FileNames& folder);
Result<std::vector<std::string>> AdapterFiles(const FileNames& folder);
// Of adapter_config.json. Unsupported: it is no LoRA adapter's, or its adapter makes the KV of a
// prefix depend on what comes after it, or makes other layers of those that there are.
Result<void> CheckAdapterConfig(std::string_view text);

}  // namespace kvcast
