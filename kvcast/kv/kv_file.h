#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kvcast/base/bytes.h"
#include "kvcast/base/result.h"
#include "kvcast/kv/block_shape.h"

namespace kvcast {

// What a KV file's values are.
enum class ValueType : uint8_t { kBf16, kFp16, kFp32 };

std::string_view ToString(ValueType type);  // "BF16", "F16", "F32", as safetensors spells them.
uint32_t ValueBytes(ValueType type);

using KvMetadata = std::map<std::string, std::string, std::less<>>;
// What a file may say about itself, and must say rightly.
inline constexpr std::string_view kModelNameKey = "kvcast.model";
inline constexpr std::string_view kModelFpKey = "kvcast.model_fp";
inline constexpr std::string_view kTokensKey = "kvcast.tokens";
inline constexpr std::string_view kRopeKey = "kvcast.rope";
// CRC-32C over the values of each layer in turn, K before V, in hex.
inline constexpr std::string_view kValuesCheckKey = "kvcast.values_crc32c";
// The least true of the rungs at which its values came. Where it is not there they are as they were
// computed, as far as anybody knows.
inline constexpr std::string_view kRungKey = "kvcast.rung";
// Which part of a cache the file is, as a track's name has it; nothing, if it is all of one.
inline constexpr std::string_view kSliceKey = "kvcast.slice";

// A KV cache in a safetensors file, read where it lies: layers.I.k and layers.I.v as
// [tokens, kv_heads, size], or layers.I.kv as [tokens, latent]. Beside them there may be queries,
// layers.I.q as [tokens, heads, size], which calibrations look at and caches do not hold. See
// docs/reference/kv-files.md.
class KvFile {
 public:
  // Refers to `file`, which must outlive the result.
  static Result<KvFile> Parse(std::span<const std::byte> file);

  ValueType type() const { return type_; }
  uint32_t tokens() const { return tokens_; }
  std::span<const LayerShape> layers() const { return layers_; }
  const KvMetadata& metadata() const { return metadata_; }
  size_t bytes_per_token() const;
  // Mismatch: the file says what its values come to, and they do not. Reads all of them.
  Result<void> CheckValues() const;
  static std::string CheckText(uint32_t check);  // As the file says it.

  // All tokens of one layer, K or V, in one piece. REQUIRES: the layer is there; MLA has no V.
  std::span<const std::byte> Values(size_t layer, Plane plane) const;
  // The queries of a layer, before RoPE; none if the file has none. REQUIRES: the layer is there.
  std::span<const std::byte> Queries(size_t layer) const { return queries_[layer].values; }
  uint32_t QueryHeads(size_t layer) const { return queries_[layer].heads; }

 private:
  uint32_t ValuesCheck() const;

  struct LayerQueries {
    std::span<const std::byte> values;
    uint32_t heads = 0;
  };

  ValueType type_ = ValueType::kBf16;
  uint32_t tokens_ = 0;
  std::vector<LayerShape> layers_;
  std::vector<std::span<const std::byte>> values_;  // K and V of each layer.
  std::vector<LayerQueries> queries_;
  KvMetadata metadata_;
};

// The plan of a KV file that is to be written: first Header(), then the tensors one after another
// in the order of parts(), each as KvFile::Values() would give it. Nothing needs to be held whole.
class KvFilePlan {
 public:
  struct Part {
    size_t layer = 0;
    Plane plane = Plane::kKey;
    uint64_t offset = 0;  // From the start of the file.
    uint64_t bytes = 0;
  };

  // Invalid or too large: what KvFile::Parse() would refuse to read again.
  static Result<KvFilePlan> Of(std::span<const LayerShape> layers, ValueType type, uint32_t tokens,
                               const KvMetadata& metadata = {});

  const Bytes& header() const { return header_; }
  std::span<const Part> parts() const { return parts_; }
  uint64_t file_bytes() const;

 private:
  KvFilePlan() = default;

  Bytes header_;
  std::vector<Part> parts_;
};

}  // namespace kvcast
