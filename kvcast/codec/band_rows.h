#pragma once

#include <cstdint>
#include <cstring>

#include "kvcast/codec/number_format.h"
#include "kvcast/codec/turn_table.h"
#include "kvcast/kv/block_view.h"

namespace kvcast {

// Some heads of a plane.
struct BandPlace {
  uint32_t layer = 0;
  Plane plane = Plane::kKey;
  uint32_t first_head = 0;
  uint32_t heads = 0;
  uint32_t size = 0;

  uint32_t values() const { return heads * size; }
};

// One token's values as they are without their position. `turns` is null where nothing is turned;
// `in_run` counts from where its table begins.
inline void ReadUnturned(const BlockView& block, HalfType type, const BandPlace& place,
                         uint32_t token, uint32_t in_run, const TurnTable* turns, float* values) {
  for (uint32_t head = 0; head < place.heads; ++head) {
    const std::byte* const row =
        block.Row(token, place.layer, place.plane, place.first_head + head).data();
    float* const to = values + size_t{head} * place.size;
    for (uint32_t i = 0; i < place.size; ++i) {
      uint16_t bits = 0;
      std::memcpy(&bits, row + i * kPageValueBytes, sizeof(bits));
      to[i] = ToFloat(type, Bounded(type, bits));
    }
    if (turns != nullptr) {
      turns->TurnBack(in_run, to);
    }
  }
}

// The most that a component counts, in 1/256 of a step: numbers then fit into 16 bits.
inline constexpr float kPartsMax = 0x1p21F;

inline int32_t RoundedWithin(float value, float most) {
  return RoundToInt(std::clamp(value, -most, most));
}

// The product of a matrix's row with whole numbers; what is too large for 32 bits wraps around.
inline int32_t RowProduct(const int16_t* row, const int16_t* whole, uint32_t count) {
  uint32_t sum = 0;
  for (uint32_t i = 0; i < count; ++i) {
    sum += static_cast<uint32_t>(int32_t{row[i]} * int32_t{whole[i]});
  }
  return static_cast<int32_t>(sum);
}

}  // namespace kvcast
