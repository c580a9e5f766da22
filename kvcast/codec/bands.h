#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "kvcast/base/byte_reader.h"
#include "kvcast/base/byte_writer.h"
#include "kvcast/codec/symbol_table.h"
#include "kvcast/kv/block_shape.h"
#include "kvcast/kv/rope.h"
#include "kvcast/kv/rung.h"

namespace kvcast {

// Which values are turned into components together: those of a head, or of all heads of a plane.
enum class BandForm : uint8_t { kHead = 1, kLayer = 2 };

// The rungs that bands are for, in the order they are kept in.
inline constexpr std::array<Rung, 4> kBandRungs = {Rung::kAc, Rung::kKtcCoarse, Rung::kKtcMedium,
                                                   Rung::kKtcFine};
// Absent: another rung.
std::optional<size_t> BandRungIndex(Rung rung);

// Values that are decorrelated together, n of them, and how.
//
// A value less its mean, times its in_scale, rounded to a whole number within kReach, is what
// `forward` is multiplied by; the product times the component's scale is the component. Numbers of
// steps times `inverse` times the value's out_scale and the step are the value less its mean.
struct BandMatrix {
  static constexpr int32_t kReach = 8191;
  std::vector<int16_t> forward;  // [component][value]
  std::vector<int16_t> inverse;  // [component][value]
  std::vector<float> component_scale;

  friend bool operator==(const BandMatrix&, const BandMatrix&) = default;
};

// The K or V of a layer; values in the order of heads. AC takes values themselves for components.
struct PlaneBands {
  static constexpr uint8_t kSkipped = 255;
  std::vector<float> mean;
  std::vector<float> in_scale;
  std::vector<float> out_scale;
  std::vector<float> ac_step;
  std::vector<BandMatrix> bands;
  // Of each component the table it is coded with; kSkipped if it counts as 0.
  std::array<std::vector<uint8_t>, kBandRungs.size()> tables;

  friend bool operator==(const PlaneBands&, const PlaneBands&) = default;
};

struct BandRung {
  float key_step = 1;
  float value_step = 1;
  std::vector<SymbolTable> tables;

  float Step(Plane plane) const { return plane == Plane::kKey ? key_step : value_step; }
  friend bool operator==(const BandRung&, const BandRung&) = default;
};

// What AC and KTC know of a model: part of its calibration.
//
//   bands  := form:u8 ropes:u8 rope[ropes] rope_of:u8[layers] rung[4] plane[planes]
//   rope   := first:u32 adjacent:u8 pairs:u32 turn:u64[pairs]
//   rung   := key_step:f32 value_step:f32 tables:u8 table[tables]
//   table  := shift:u8 rounding:u8 zero_below:u16 shares:u8[16]
//   plane  := mean:f32[n] in_scale:f32[n] out_scale:f32[n] ac_step:f32[n] table_of:u8[n] 4 times
//             band[1 or heads]                       n: values of a token in the plane
//   band   := component_scale:f32[m] forward:i16[m * m] inverse:i16[m * m]       m: n or size
struct Bands {
  static constexpr uint8_t kNoRope = 255;
  static constexpr size_t kTablesMax = 250;
  static constexpr uint32_t kBandValuesMax = 16'384;

  BandForm form = BandForm::kLayer;
  std::vector<Rope> ropes;
  std::vector<uint8_t> rope_of_layer;  // kNoRope: its keys are not turned.
  std::array<BandRung, kBandRungs.size()> rungs;
  std::vector<PlaneBands> planes;  // In canonical order.

  // How many values a band has.
  uint32_t BandValues(const LayerShape& layer, Plane plane) const {
    return layer.size(plane) * (form == BandForm::kLayer ? layer.kv_heads : 1);
  }
  void Write(ByteWriter& writer) const;
  // What Write() wrote for these layers, checked.
  static Result<Bands> Read(ByteReader& reader, std::span<const LayerShape> layers);

  friend bool operator==(const Bands&, const Bands&) = default;
};

}  // namespace kvcast
