#include "kvcast/codec/bands.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace kvcast {
namespace {

// So that no product of a few of them with a number is denormal or infinite.
constexpr float kBandScaleMin = 0x1p-40F;
constexpr float kBandScaleMax = 0x1p40F;

bool IsBandScale(float scale) { return scale >= kBandScaleMin && scale <= kBandScaleMax; }
bool IsBandMean(float mean) {
  return mean == 0 || (std::abs(mean) >= kBandScaleMin && std::abs(mean) <= kBandScaleMax);
}

void WriteFloats(const std::vector<float>& values, ByteWriter& writer) {
  for (const float value : values) {
    writer.U32Le(std::bit_cast<uint32_t>(value));
  }
}

void WriteWords(const std::vector<int16_t>& values, ByteWriter& writer) {
  for (const int16_t value : values) {
    writer.U16Le(static_cast<uint16_t>(value));
  }
}

// REQUIRES: that many bytes are known to be there.
Result<void> ReadFloats(ByteReader& reader, size_t count, bool (*sound)(float),
                        std::vector<float>& values) {
  values.reserve(count);
  for (size_t i = 0; i < count; ++i) {
    KVCAST_TRY(const uint32_t bits, reader.U32Le());
    values.push_back(std::bit_cast<float>(bits));
    if (!sound(values.back())) {
      return reader.Malformed("A constant of the calibration is out of its range.");
    }
  }
  return {};
}

Result<void> ReadWords(ByteReader& reader, size_t count, std::vector<int16_t>& values) {
  values.reserve(count);
  for (size_t i = 0; i < count; ++i) {
    KVCAST_TRY(const uint16_t word, reader.U16Le());
    values.push_back(static_cast<int16_t>(word));
  }
  return {};
}

void WriteRope(const Rope& rope, ByteWriter& writer) {
  writer.U32Le(rope.first);
  writer.U8(rope.adjacent ? 1 : 0);
  writer.U32Le(rope.pairs());
  for (const uint64_t turn : rope.turns) {
    writer.U64Le(turn);
  }
}

Result<Rope> ReadRope(ByteReader& reader) {
  Rope rope;
  KVCAST_TRY(rope.first, reader.U32Le());
  KVCAST_TRY(const uint8_t adjacent, reader.U8());
  KVCAST_TRY(const uint32_t pairs, reader.U32Le());
  if (adjacent > 1 || pairs == 0 || pairs > reader.remaining() / sizeof(uint64_t)) {
    return reader.Malformed("The calibration turns keys as nobody does.");
  }
  rope.adjacent = adjacent == 1;
  for (uint32_t i = 0; i < pairs; ++i) {
    KVCAST_TRY(const uint64_t turn, reader.U64Le());
    rope.turns.push_back(turn);
  }
  return rope;
}

void WriteRung(const BandRung& rung, ByteWriter& writer) {
  writer.U32Le(std::bit_cast<uint32_t>(rung.key_step));
  writer.U32Le(std::bit_cast<uint32_t>(rung.value_step));
  writer.U8(static_cast<uint8_t>(rung.tables.size()));
  for (const SymbolTable& table : rung.tables) {
    writer.U8(table.shift);
    writer.U8(table.rounding);
    writer.U16Le(table.zero_below);
    writer.Write(std::as_bytes(std::span(table.shares)));
  }
}

Result<BandRung> ReadRung(ByteReader& reader) {
  BandRung rung;
  std::vector<float> steps;
  KVCAST_TRY_VOID(ReadFloats(reader, 2, IsBandScale, steps));
  rung.key_step = steps[0];
  rung.value_step = steps[1];
  KVCAST_TRY(const uint8_t tables, reader.U8());
  for (uint32_t i = 0; i < tables; ++i) {
    SymbolTable& table = rung.tables.emplace_back();
    KVCAST_TRY(table.shift, reader.U8());
    KVCAST_TRY(table.rounding, reader.U8());
    KVCAST_TRY(table.zero_below, reader.U16Le());
    KVCAST_TRY_VOID(reader.Read(std::as_writable_bytes(std::span(table.shares))));
    if (!table.IsSound()) {
      return reader.Malformed("A table of the calibration does not share out 256.");
    }
  }
  return rung;
}

Result<PlaneBands> ReadPlane(ByteReader& reader, const Bands& bands, uint64_t values,
                             uint64_t band_values) {
  constexpr uint64_t kValueBytes = 4 * sizeof(float) + kBandRungs.size();
  const uint64_t matrices = values * band_values * 2 * sizeof(int16_t);
  if (band_values > Bands::kBandValuesMax ||
      values * (kValueBytes + sizeof(float)) + matrices > reader.remaining()) {
    return reader.Malformed("The calibration has not as many constants as its layers need.");
  }
  PlaneBands plane;
  KVCAST_TRY_VOID(ReadFloats(reader, values, IsBandMean, plane.mean));
  for (std::vector<float>* scales : {&plane.in_scale, &plane.out_scale, &plane.ac_step}) {
    KVCAST_TRY_VOID(ReadFloats(reader, values, IsBandScale, *scales));
  }
  for (size_t rung = 0; rung < kBandRungs.size(); ++rung) {
    std::vector<uint8_t>& tables = plane.tables[rung];
    tables.resize(values);
    KVCAST_TRY_VOID(reader.Read(std::as_writable_bytes(std::span(tables))));
    const size_t there = bands.rungs[rung].tables.size();
    if (std::ranges::any_of(tables, [&](uint8_t table) {
          return table != PlaneBands::kSkipped && table >= there;
        })) {
      return reader.Malformed("A component has a table that is not there.");
    }
  }
  for (uint64_t first = 0; first < values; first += band_values) {
    BandMatrix& band = plane.bands.emplace_back();
    KVCAST_TRY_VOID(ReadFloats(reader, band_values, IsBandScale, band.component_scale));
    KVCAST_TRY_VOID(ReadWords(reader, band_values * band_values, band.forward));
    KVCAST_TRY_VOID(ReadWords(reader, band_values * band_values, band.inverse));
  }
  return plane;
}

// Ropes, and which layer has which.
Result<void> ReadRopes(ByteReader& reader, std::span<const LayerShape> layers, Bands& bands) {
  KVCAST_TRY(const uint8_t ropes, reader.U8());
  for (uint32_t i = 0; i < ropes; ++i) {
    KVCAST_TRY(Rope rope, ReadRope(reader));
    bands.ropes.push_back(std::move(rope));
  }
  bands.rope_of_layer.resize(layers.size());
  KVCAST_TRY_VOID(reader.Read(std::as_writable_bytes(std::span(bands.rope_of_layer))));
  for (size_t i = 0; i < layers.size(); ++i) {
    const uint8_t rope = bands.rope_of_layer[i];
    if (rope == Bands::kNoRope) {
      continue;
    }
    if (rope >= bands.ropes.size() ||
        uint64_t{bands.ropes[rope].first} + 2 * uint64_t{bands.ropes[rope].pairs()} >
            layers[i].key_size) {
      return reader.Malformed("The calibration turns values that keys do not have.");
    }
  }
  return {};
}

}  // namespace

std::optional<size_t> BandRungIndex(Rung rung) {
  const auto found = std::ranges::find(kBandRungs, rung);
  return found == kBandRungs.end() ? std::nullopt
                                   : std::optional(static_cast<size_t>(found - kBandRungs.begin()));
}

void Bands::Write(ByteWriter& writer) const {
  writer.U8(static_cast<uint8_t>(form));
  writer.U8(static_cast<uint8_t>(ropes.size()));
  for (const Rope& rope : ropes) {
    WriteRope(rope, writer);
  }
  writer.Write(std::as_bytes(std::span(rope_of_layer)));
  for (const BandRung& rung : rungs) {
    WriteRung(rung, writer);
  }
  for (const PlaneBands& plane : planes) {
    for (const std::vector<float>* values :
         {&plane.mean, &plane.in_scale, &plane.out_scale, &plane.ac_step}) {
      WriteFloats(*values, writer);
    }
    for (const std::vector<uint8_t>& tables : plane.tables) {
      writer.Write(std::as_bytes(std::span(tables)));
    }
    for (const BandMatrix& band : plane.bands) {
      WriteFloats(band.component_scale, writer);
      WriteWords(band.forward, writer);
      WriteWords(band.inverse, writer);
    }
  }
}

Result<Bands> Bands::Read(ByteReader& reader, std::span<const LayerShape> layers) {
  Bands bands;
  KVCAST_TRY(const uint8_t form, reader.U8());
  if (form != static_cast<uint8_t>(BandForm::kHead) &&
      form != static_cast<uint8_t>(BandForm::kLayer)) {
    return reader.Malformed("The calibration has bands of an unknown form.");
  }
  bands.form = static_cast<BandForm>(form);
  KVCAST_TRY_VOID(ReadRopes(reader, layers, bands));
  for (BandRung& rung : bands.rungs) {
    KVCAST_TRY(rung, ReadRung(reader));
  }
  for (const LayerShape& layer : layers) {
    for (const Plane plane : {Plane::kKey, Plane::kValue}) {
      if (layer.size(plane) == 0) {
        continue;
      }
      const uint64_t values = uint64_t{layer.kv_heads} * layer.size(plane);
      const uint64_t band_values = bands.form == BandForm::kLayer ? values : layer.size(plane);
      KVCAST_TRY(PlaneBands read, ReadPlane(reader, bands, values, band_values));
      bands.planes.push_back(std::move(read));
    }
  }
  return bands;
}

}  // namespace kvcast
