#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kvcast/base/digest.h"
#include "kvcast/base/result.h"
#include "kvcast/kv/layer_group.h"
#include "kvcast/kv/token.h"

namespace kvcast {

// What an engine computes keys and values in, before any rung changes them.
enum class KvDtype : uint8_t { kBf16, kFp16, kFp32, kFp8E4m3, kFp8E5m2, kInt8 };

std::string_view ToString(KvDtype dtype);
// By kvcast's name ("bf16") or Hugging Face's ("bfloat16").
Result<KvDtype> KvDtypeOf(std::string_view name);

// Invalid: not 1 to 2^32 - 1.
Result<uint32_t> BlockTokensOf(uint64_t tokens);

// Everything that changes the KV of given tokens. Two engines share caches exactly if their
// descriptions are equal; how they lay out their pages is not part of it.
struct ModelDescription {
  Digest weights;
  Digest tokenizer;
  std::optional<Digest> adapter;
  Digest config;
  KvDtype kv_dtype = KvDtype::kBf16;
  uint32_t block_tokens = kBlockTokensDefault;
  std::vector<LayerGroup> groups;

  //   description := "kvcast/model/1" (tag:u8 len:u32 bytes)*
  //
  // Every field is tagged and has a length, so no two descriptions are written alike.
  std::string Encode() const;
  // SHA-256 of Encode(): the model's name in every block hash.
  Digest Fingerprint() const { return Sha256::Of(Encode()); }

  friend bool operator==(const ModelDescription&, const ModelDescription&) = default;
};

// One digest for several files, from their digests in ascending order of the files' names.
Digest DigestOfFiles(std::span<const Digest> files);

}  // namespace kvcast
