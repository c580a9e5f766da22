#include "kvcast/codec/layer_runs.h"

#include <string>

namespace kvcast {

void WriteLayerRuns(std::span<const LayerShape> layers, ByteWriter& writer) {
  std::vector<size_t> starts;
  for (size_t i = 0; i < layers.size(); ++i) {
    if (i == 0 || layers[i] != layers[i - 1]) {
      starts.push_back(i);
    }
  }
  writer.Vi64(starts.size());
  for (size_t i = 0; i < starts.size(); ++i) {
    const LayerShape& layer = layers[starts[i]];
    writer.Vi64((i + 1 < starts.size() ? starts[i + 1] : layers.size()) - starts[i]);
    writer.Vi64(layer.kv_heads);
    writer.Vi64(layer.key_size);
    writer.Vi64(layer.value_size);
  }
}

Result<uint32_t> ReadNumberUpTo(ByteReader& reader, uint32_t max) {
  const size_t at = reader.offset();
  KVCAST_TRY(const uint64_t number, reader.Vi64());
  if (number > max) {
    return Error(ErrorCode::kMalformed, "It says " + std::to_string(number) + " where " +
                                            std::to_string(max) + " is the most.")
        .At(at);
  }
  return static_cast<uint32_t>(number);
}

Result<std::vector<LayerShape>> ReadLayerRuns(ByteReader& reader) {
  std::vector<LayerShape> layers;
  KVCAST_TRY(const uint32_t runs, ReadNumberUpTo(reader, kCodedLayersMax));
  for (uint32_t run = 0; run < runs; ++run) {
    const auto room = static_cast<uint32_t>(kCodedLayersMax - layers.size());
    KVCAST_TRY(const uint32_t count, ReadNumberUpTo(reader, room));
    LayerShape layer;
    KVCAST_TRY(layer.kv_heads, ReadNumberUpTo(reader, kCodedHeadsMax));
    KVCAST_TRY(layer.key_size, ReadNumberUpTo(reader, kCodedSizeMax));
    KVCAST_TRY(layer.value_size, ReadNumberUpTo(reader, kCodedSizeMax));
    layers.insert(layers.end(), count, layer);
  }
  return layers;
}

bool IsSoundLayer(const LayerShape& layer) {
  return layer.kv_heads > 0 && layer.kv_heads <= kCodedHeadsMax && layer.key_size > 0 &&
         layer.key_size <= kCodedSizeMax && layer.value_size <= kCodedSizeMax;
}

}  // namespace kvcast
