#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <vector>

#include "kvcast/base/result.h"
#include "kvcast/codec/calibration.h"
#include "kvcast/codec/half_type.h"
#include "kvcast/io/file.h"
#include "kvcast/kv/block_view.h"
#include "kvcast/kv/kv_file.h"

namespace kvcast {

// What the commands that encode caches share.

// The layers that a model caches, by its config.json: that file, or the folder that it is in.
Result<std::vector<LayerShape>> LayersOfModel(const std::filesystem::path& model);

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
  uint32_t tokens_after() const { return tokens_after_; }  // Those of no whole block.
  size_t values() const { return tokens() * shape_.values_per_token(); }
  // REQUIRES: one of them. Refers to this, which must stay where it is.
  BlockView Block(size_t index) const;

 private:
  CacheBlocks(MappedFile mapped, BlockShape shape)
      : mapped_(std::move(mapped)), shape_(std::move(shape)) {}

  MappedFile mapped_;
  BlockShape shape_;
  HalfType type_ = HalfType::kBf16;
  std::vector<uint32_t> pages_;
  uint32_t tokens_after_ = 0;
  std::optional<PagedCache> cache_;
};

Result<Calibration> ReadCalibration(const std::filesystem::path& path);

// How a cache is encoded at a rung: with the constants of a calibration, or else with those that
// suit its own blocks. Mismatch: the calibration is of another model or type.
Result<TrackFormat> FormatFor(const CacheBlocks& blocks, Rung rung, const Calibration* calibration);

}  // namespace kvcast
