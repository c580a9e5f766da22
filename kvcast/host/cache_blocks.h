#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <vector>

#include "kvcast/base/result.h"
#include "kvcast/codec/calibration.h"
#include "kvcast/codec/codec.h"
#include "kvcast/codec/half_type.h"
#include "kvcast/io/file.h"
#include "kvcast/kv/block_view.h"
#include "kvcast/kv/kv_file.h"
#include "kvcast/kv/rope.h"

namespace kvcast {

// What the commands that encode caches share.

// The layers that a model caches, by its config.json: that file, or the folder that it is in.
Result<std::vector<LayerShape>> LayersOfModel(const std::filesystem::path& model);
// How each of them turns its keys.
Result<std::vector<Rope>> RopesOfModel(const std::filesystem::path& model);

// What a KV file's values are to a codec. Unsupported: F32, which no rung takes.
Result<HalfType> HalvesOf(ValueType type);
ValueType ValuesOf(HalfType type);

// The whole blocks of a KV file, for a codec to read.
class CacheBlocks {
 public:
  // `layers` are those it must have, if anybody knows. Mismatch: it has others. Invalid: it has no
  // whole block.
  static Result<CacheBlocks> Open(const std::filesystem::path& path, uint32_t block_tokens,
                                  const std::vector<LayerShape>* layers);

  HalfType type() const { return type_; }
  const BlockShape& shape() const { return shape_; }
  size_t count() const { return pages_.size(); }
  size_t tokens() const { return count() * shape_.tokens(); }
  // The rung at which the file says that its values came.
  const std::optional<Rung>& came() const { return came_; }
  uint32_t tokens_after() const { return tokens_after_; }  // Those of no whole block.
  size_t values() const { return tokens() * shape_.values_per_token(); }
  // REQUIRES: one of them. Refers to this, which must stay where it is.
  BlockView Block(size_t index) const;
  // A layer's queries before RoPE, [tokens, heads, size]; empty where the file has none.
  std::vector<float> Queries(uint32_t layer) const;
  uint32_t QueryHeads(uint32_t layer) const { return query_heads_[layer]; }

 private:
  CacheBlocks(MappedFile mapped, BlockShape shape)
      : mapped_(std::move(mapped)), shape_(std::move(shape)) {}

  MappedFile mapped_;
  BlockShape shape_;
  HalfType type_ = HalfType::kBf16;
  std::vector<uint32_t> pages_;
  uint32_t tokens_after_ = 0;
  std::optional<Rung> came_;
  std::optional<PagedCache> cache_;
  std::vector<std::span<const std::byte>> queries_;  // Of each layer.
  std::vector<uint32_t> query_heads_;
};

// How a cache is encoded at a rung: with the constants of a calibration, or else with those that
// suit its own blocks, which AC and KTC have none of. Mismatch: the calibration is of another model
// or type.
Result<TrackFormat> FormatFor(const CacheBlocks& blocks, Rung rung, const Calibration* calibration);

// The codec of such a format.
Result<std::unique_ptr<const Codec>> CodecFor(const TrackFormat& format,
                                              const Calibration* calibration);
// BF16 or F16 as they lie in a file.
std::vector<float> FloatsOf(HalfType type, std::span<const std::byte> values);

}  // namespace kvcast
