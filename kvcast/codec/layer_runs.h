#pragma once

#include <cstdint>
#include <vector>

#include "kvcast/base/byte_reader.h"
#include "kvcast/base/byte_writer.h"
#include "kvcast/kv/block_shape.h"

namespace kvcast {

// Layers as formats and calibrations write them, equal ones in a row told once:
//
//   layers := runs:vi64 run[runs]
//   run    := layers:vi64 kv_heads:vi64 key_size:vi64 value_size:vi64
inline constexpr uint32_t kCodedLayersMax = 4096;
inline constexpr uint32_t kCodedHeadsMax = 65'536;
inline constexpr uint32_t kCodedSizeMax = 65'536;

void WriteLayerRuns(std::span<const LayerShape> layers, ByteWriter& writer);
// Malformed: more of anything than there may be. Whether the layers make sense, and are written as
// they must be, is for the caller to see.
Result<std::vector<LayerShape>> ReadLayerRuns(ByteReader& reader);
// A number that is at most `max`, or malformed.
Result<uint32_t> ReadNumberUpTo(ByteReader& reader, uint32_t max);
// Whether a layer holds anything that a codec could work with.
bool IsSoundLayer(const LayerShape& layer);

}  // namespace kvcast
