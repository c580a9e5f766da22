#include "kvcast/codec/track_format.h"

#include <algorithm>
#include <bit>

#include "kvcast/base/byte_reader.h"
#include "kvcast/base/byte_writer.h"
#include "kvcast/base/check.h"
#include "kvcast/codec/layer_runs.h"

namespace kvcast {
namespace {

constexpr float kStaticScaleMin = 0x1p-60F;
constexpr float kStaticScaleMax = 0x1p60F;
enum Parts : uint8_t { kHasDigest = 1, kHasScales = 2, kHasTables = 4 };

Error UnusableFormat(std::string message) { return Error(ErrorCode::kInvalid, std::move(message)); }

size_t ScaleCountOf(const TrackFormat& format) {
  return format.rung == Rung::kFp8   ? format.RowCount()
         : format.rung == Rung::kFp4 ? format.PlaneCount()
                                     : 0;
}

size_t TableCountOf(const TrackFormat& format) {
  const bool lossless = format.rung == Rung::kBf16Lossless || format.rung == Rung::kFp16Lossless;
  return lossless ? format.PlaneCount() : 0;
}

bool SoundScale(float scale) { return scale >= kStaticScaleMin && scale <= kStaticScaleMax; }

// As many as the shape and rung say, and only if the bytes are there.
Result<void> ReadParts(ByteReader& reader, uint8_t parts, TrackFormat& format) {
  if ((parts & kHasDigest) != 0) {
    format.calibration.emplace();
    KVCAST_TRY_VOID(reader.Read(format.calibration->bytes));
  }
  if ((parts & kHasScales) != 0) {
    const size_t count = ScaleCountOf(format);
    if (reader.remaining() < count * sizeof(float)) {
      return reader.Malformed("A track's format has too few scales.");
    }
    for (size_t i = 0; i < count; ++i) {
      KVCAST_TRY(const uint32_t bits, reader.U32Le());
      format.scales.push_back(std::bit_cast<float>(bits));
    }
  }
  if ((parts & kHasTables) != 0) {
    const size_t count = TableCountOf(format);
    if (reader.remaining() < count * (ExponentTable::kNamed + ExponentTable::kSymbols)) {
      return reader.Malformed("A track's format has too few tables.");
    }
    for (size_t i = 0; i < count; ++i) {
      ExponentTable& table = format.tables.emplace_back();
      KVCAST_TRY_VOID(reader.Read(std::as_writable_bytes(std::span(table.exponents))));
      KVCAST_TRY_VOID(reader.Read(std::as_writable_bytes(std::span(table.shares))));
    }
  }
  return {};
}

}  // namespace

bool ExponentTable::IsSound() const {
  uint32_t total = 0;
  for (const uint8_t share : shares) {
    if (share == 0) {
      return false;
    }
    total += share;
  }
  std::array<uint8_t, kNamed> sorted = exponents;
  std::ranges::sort(sorted);
  return total == kTotal && std::ranges::adjacent_find(sorted) == sorted.end();
}

TrackFormat TrackFormat::Of(Rung rung, HalfType type, const BlockShape& shape, const Slice& slice) {
  TrackFormat format;
  format.rung = rung;
  format.value_type = type;
  format.layers.assign(shape.layers().begin(), shape.layers().end());
  format.first_layer = slice.layers ? slice.layers->first : 0;
  format.first_head = slice.heads ? slice.heads->first : 0;
  format.block_tokens = shape.tokens();
  return format;
}

size_t TrackFormat::PlaneCount() const {
  size_t planes = 0;
  for (const LayerShape& layer : layers) {
    planes += layer.value_size == 0 ? 1 : 2;
  }
  return planes;
}

size_t TrackFormat::RowCount() const {
  size_t rows = 0;
  for (const LayerShape& layer : layers) {
    rows += size_t{layer.kv_heads} * (layer.value_size == 0 ? 1 : 2);
  }
  return rows;
}

Result<void> TrackFormat::Check() const {
  if (layers.empty() || layers.size() > kCodedLayersMax ||
      !std::ranges::all_of(layers, IsSoundLayer) || first_layer >= kCodedLayersMax ||
      first_head >= kCodedHeadsMax) {
    return UnusableFormat("No cache has such layers.");
  }
  if (block_tokens == 0 || block_tokens > kTokensMax || run_tokens == 0 ||
      run_tokens > block_tokens) {
    return UnusableFormat("A block of " + std::to_string(block_tokens) +
                          " tokens cannot be cut into objects of " + std::to_string(run_tokens) +
                          ".");
  }
  if (scales.size() != ScaleCountOf(*this) || tables.size() != TableCountOf(*this)) {
    return UnusableFormat("The rung " + std::string(ToString(rung)) + " needs " +
                          std::to_string(ScaleCountOf(*this)) + " scales and " +
                          std::to_string(TableCountOf(*this)) +
                          " tables for this shape; there are " + std::to_string(scales.size()) +
                          " and " + std::to_string(tables.size()) + ".");
  }
  if (!std::ranges::all_of(scales, SoundScale)) {
    return UnusableFormat("A scale is not between 2^-60 and 2^60.");
  }
  if (!std::ranges::all_of(tables, &ExponentTable::IsSound)) {
    return UnusableFormat("A table of exponents does not share out 256, or names one twice.");
  }
  constexpr size_t kTableBytes = ExponentTable::kNamed + ExponentTable::kSymbols;
  constexpr size_t kRestBytes = 64 + kCodedLayersMax / 4;
  if (scales.size() * sizeof(float) + tables.size() * kTableBytes + kRestBytes > kBytesMax) {
    return UnusableFormat(
        "The rung's constants for this shape are too many for one track; "
        "publish slices of layers.");
  }
  return {};
}

std::string TrackFormat::Encode() const {
  ByteWriter writer;
  writer.U8(kVersion);
  writer.U8(static_cast<uint8_t>(rung));
  writer.U8(static_cast<uint8_t>(value_type));
  writer.U8(static_cast<uint8_t>((calibration ? kHasDigest : 0) |
                                 (scales.empty() ? 0 : kHasScales) |
                                 (tables.empty() ? 0 : kHasTables)));
  writer.Vi64(first_layer);
  writer.Vi64(first_head);
  writer.Vi64(block_tokens);
  writer.Vi64(run_tokens);
  WriteLayerRuns(layers, writer);
  if (calibration) {
    writer.Write(calibration->bytes);
  }
  for (const float scale : scales) {
    writer.U32Le(std::bit_cast<uint32_t>(scale));
  }
  for (const ExponentTable& table : tables) {
    writer.Write(std::as_bytes(std::span(table.exponents)));
    writer.Write(std::as_bytes(std::span(table.shares)));
  }
  return writer.Take().ToString();
}

Result<TrackFormat> TrackFormat::Parse(std::string_view encoded) {
  ByteReader reader(AsBytes(encoded));
  KVCAST_TRY(const uint8_t version, reader.U8());
  if (version != kVersion) {
    return Error(ErrorCode::kUnsupported, "The track's format is of another version.").At(0);
  }
  KVCAST_TRY(const uint8_t rung, reader.U8());
  KVCAST_TRY(const uint8_t type, reader.U8());
  KVCAST_TRY(const uint8_t parts, reader.U8());
  if (rung >= AllRungs().size() || type > static_cast<uint8_t>(HalfType::kFp16)) {
    return Error(ErrorCode::kUnsupported, "The track has a rung or values of an unknown kind.")
        .At(1);
  }
  TrackFormat format;
  format.rung = static_cast<Rung>(rung);
  format.value_type = static_cast<HalfType>(type);
  KVCAST_TRY(format.first_layer, ReadNumberUpTo(reader, kCodedLayersMax));
  KVCAST_TRY(format.first_head, ReadNumberUpTo(reader, kCodedHeadsMax));
  KVCAST_TRY(format.block_tokens, ReadNumberUpTo(reader, kTokensMax));
  KVCAST_TRY(format.run_tokens, ReadNumberUpTo(reader, kTokensMax));
  KVCAST_TRY(format.layers, ReadLayerRuns(reader));
  KVCAST_TRY_VOID(ReadParts(reader, parts, format));
  KVCAST_TRY_VOID(format.Check());
  // One format has one serialisation: an integer written longer than it needs, or layers cut where
  // nothing changes, would be another name for the same thing.
  if (format.Encode() != encoded) {
    return reader.Malformed("The track's format is not written as it must be.");
  }
  return format;
}

}  // namespace kvcast
