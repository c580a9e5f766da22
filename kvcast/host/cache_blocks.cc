#include "kvcast/host/cache_blocks.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <system_error>

#include "kvcast/base/check.h"
#include "kvcast/codec/bands.h"
#include "kvcast/codec/number_format.h"
#include "kvcast/codec/survey.h"
#include "kvcast/host/cache_rows.h"
#include "kvcast/host/kv_file_fit.h"
#include "kvcast/kv/model_config.h"
#include "kvcast/kv/model_files.h"

namespace kvcast {
namespace {

// config.json: that file, or in that folder.
Result<ModelConfig> ConfigAt(const std::filesystem::path& model) {
  std::error_code ignored;
  const std::filesystem::path path =
      std::filesystem::is_directory(model, ignored) ? model / "config.json" : model;
  KVCAST_TRY(const std::string text, ReadRegularFile(path, kModelConfigBytesMax));
  Result<ModelConfig> config = ModelConfig::Parse(text);
  if (!config.ok()) {
    return std::move(config).error().In(path.string());
  }
  return config;
}

}  // namespace

Result<std::vector<LayerShape>> LayersOfModel(const std::filesystem::path& model) {
  KVCAST_TRY(const ModelConfig config, ConfigAt(model));
  const BlockShape shape(config.groups, 1);
  return std::vector<LayerShape>(shape.layers().begin(), shape.layers().end());
}

Result<std::vector<Rope>> RopesOfModel(const std::filesystem::path& model) {
  KVCAST_TRY(const ModelConfig config, ConfigAt(model));
  std::vector<Rope> ropes(BlockShape(config.groups, 1).layers().size());
  for (const LayerGroup& group : config.groups) {
    for (const uint32_t layer : group.layers) {
      ropes[layer] = Rope::Of(group);
    }
  }
  return ropes;
}

Result<HalfType> HalvesOf(ValueType type) {
  switch (type) {
    case ValueType::kBf16:
      return HalfType::kBf16;
    case ValueType::kFp16:
      return HalfType::kFp16;
    case ValueType::kFp32:
      break;
  }
  return Error(
      ErrorCode::kUnsupported,
      "Rungs are of caches in BF16 and F16; this is F32. Convert it, and say --kv-dtype bf16 or "
      "fp16 wherever it is named.");
}

ValueType ValuesOf(HalfType type) {
  return type == HalfType::kBf16 ? ValueType::kBf16 : ValueType::kFp16;
}

Result<CacheBlocks> CacheBlocks::Open(const std::filesystem::path& path, uint32_t block_tokens,
                                      const std::vector<LayerShape>* layers) {
  KVCAST_TRY(MappedFile mapped, MappedFile::Open(path));
  const Result<KvFile> file = KvFile::Parse(mapped.span());
  if (!file.ok()) {
    return Error(file.error()).In(path.string());
  }
  if (layers != nullptr && !SliceOf(*file).IsWhole()) {
    return Error(ErrorCode::kMismatch, "The file holds only a slice of a cache, " +
                                           SliceOf(*file).Suffix() +
                                           ", and what is wanted here is all of one.")
        .In(path.string());
  }
  if (layers != nullptr && !std::ranges::equal(*layers, file->layers())) {
    return Error(ErrorCode::kMismatch,
                 "The cache is not one of this model: its layers, heads or head sizes are others.")
        .In(path.string());
  }
  const Result<HalfType> type = HalvesOf(file->type());
  if (!type.ok()) {
    return Error(type.error()).In(path.string());
  }
  const size_t count = file->tokens() / block_tokens;
  if (count == 0 || block_tokens > TrackFormat::kTokensMax) {
    return Error(ErrorCode::kInvalid,
                 fmt::format("The file holds {} tokens, and a block {}: there is no whole block "
                             "to encode. --block-tokens makes blocks shorter.",
                             file->tokens(), block_tokens))
        .In(path.string());
  }
  CacheBlocks blocks(std::move(mapped),
                     BlockShape({file->layers().begin(), file->layers().end()}, block_tokens));
  blocks.type_ = *type;
  blocks.pages_ = PagesInARow(count);
  blocks.came_ = RungOf(*file);
  blocks.tokens_after_ = file->tokens() % block_tokens;
  for (size_t layer = 0; layer < file->layers().size(); ++layer) {
    blocks.queries_.push_back(file->Queries(layer));
    blocks.query_heads_.push_back(file->QueryHeads(layer));
  }
  KVCAST_TRY(blocks.cache_,
             BlocksInARow(blocks.shape_, file->type(), MemoryOf(*file, count * block_tokens)));
  return blocks;
}

BlockView CacheBlocks::Block(size_t index) const {
  KVCAST_CHECK(index < count());
  return *BlockView::Of(*cache_, pages_, index * shape_.tokens(), shape_.tokens());
}

std::vector<float> CacheBlocks::Queries(uint32_t layer) const {
  return FloatsOf(type_, queries_[layer]);
}

std::vector<float> FloatsOf(HalfType type, std::span<const std::byte> values) {
  std::vector<float> floats(values.size() / kPageValueBytes);
  for (size_t i = 0; i < floats.size(); ++i) {
    uint16_t bits = 0;
    std::memcpy(&bits, values.data() + i * kPageValueBytes, sizeof(bits));
    floats[i] = ToFloat(type, Bounded(type, bits));
  }
  return floats;
}

Result<std::unique_ptr<const Codec>> CodecFor(const TrackFormat& format,
                                              const Calibration* calibration) {
  return calibration != nullptr ? Codec::Of(format, format.value_type, *calibration)
                                : Codec::Of(format, format.value_type);
}

Result<TrackFormat> FormatFor(const CacheBlocks& blocks, Rung rung,
                              const Calibration* calibration) {
  if (calibration != nullptr) {
    if (!std::ranges::equal(calibration->layers(), blocks.shape().layers()) ||
        calibration->value_type() != blocks.type()) {
      return Error(ErrorCode::kMismatch,
                   "The calibration is of another model, or of caches in another type of values.");
    }
    return calibration->FormatOf(rung, blocks.shape().tokens());
  }
  if (BandRungIndex(rung)) {
    return Error(ErrorCode::kInvalid, fmt::format("The rung {} needs a calibration of the model: "
                                                  "'kvcast calibrate' makes one.",
                                                  ToString(rung)));
  }
  Survey survey(blocks.shape(), blocks.type());
  for (size_t i = 0; i < blocks.count(); ++i) {
    survey.Add(blocks.Block(i));
  }
  return survey.FormatOf(rung);
}

}  // namespace kvcast
