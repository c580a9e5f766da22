#include "kvcast/codec/coded_planes.h"

#include <algorithm>

#include "kvcast/base/check.h"

namespace kvcast {
namespace {

constexpr uint32_t kNoRow = ~uint32_t{0};

struct CodedPlaneMaker {
  const TrackFormat& format;
  const Bands& bands;
  const size_t rung_index;
  const BandRung& rung;
  const bool is_ac;

  CodedPlane PlaneOf(const LayerShape& model_layer, uint32_t layer, Plane plane,
                     const PlaneBands& constants) const;
  CodedBand BandOf(const CodedPlane& plane, const PlaneBands& constants, float step, uint32_t head,
                   std::span<const uint8_t> table_of, std::span<const uint32_t> row_of) const;
};

// Values stand in order where they are multiplied, products in split places.
void SetMatrices(CodedBand& band, const BandMatrix& matrix, std::span<const uint32_t> components,
                 uint32_t size) {
  const uint32_t padded = SplitSize(size);
  const auto values = static_cast<uint32_t>(band.means.size() / padded * size);
  const auto count = static_cast<uint32_t>(components.size());
  const auto at = [&](const std::vector<int16_t>& whole, uint32_t k, uint32_t value) {
    const uint32_t i = value % padded;
    return k < count && i < size
               ? whole[size_t{components[k]} * values + size_t{value / padded} * size + i]
               : int16_t{0};
  };
  const auto ins = static_cast<uint32_t>(band.means.size());
  band.forward = PairedMatrix(ins, SplitSize(count), [&](uint32_t value, uint32_t place) {
    return at(matrix.forward, SplitValue(place), value);
  });
  band.inverse = PairedMatrix(count, ins, [&](uint32_t k, uint32_t place) {
    return at(matrix.inverse, k, SplitValue(place));
  });
}

CodedPlane CodedPlaneMaker::PlaneOf(const LayerShape& model_layer, uint32_t layer, Plane plane,
                                    const PlaneBands& constants) const {
  const bool per_head = bands.form == BandForm::kHead;
  const uint32_t slice_heads = format.layers[layer].kv_heads;
  CodedPlane made;
  made.layer = layer;
  made.plane = plane;
  made.size = model_layer.size(plane);
  // AC's heads have nothing to do with each other, and are done together.
  made.heads = is_ac ? slice_heads : per_head ? 1 : model_layer.kv_heads;
  KVCAST_CHECK(is_ac || per_head || (slice_heads == made.heads && format.first_head == 0));
  if (plane == Plane::kKey) {
    made.rope = bands.rope_of_layer[format.first_layer + layer];
  }
  const std::span<const uint8_t> table_of =
      std::span(constants.tables[rung_index])
          .subspan(size_t{format.first_head} * made.size, size_t{slice_heads} * made.size);
  std::vector<uint32_t> row_of(table_of.size(), kNoRow);
  for (uint32_t table = 0; table < rung.tables.size(); ++table) {
    CodedUnit unit{table, made.rows, 0};
    for (size_t i = 0; i < table_of.size(); ++i) {
      if (table_of[i] == table) {
        row_of[i] = made.rows++;
        ++unit.count;
      }
    }
    if (unit.count > 0) {
      made.units.push_back(unit);
    }
  }
  const size_t values = size_t{made.heads} * made.size;
  for (uint32_t head = 0; head < slice_heads; head += made.heads) {
    made.bands.push_back(BandOf(made, constants, rung.Step(plane), head,
                                table_of.subspan(size_t{head} * made.size, values),
                                std::span(row_of).subspan(size_t{head} * made.size, values)));
  }
  return made;
}

CodedBand CodedPlaneMaker::BandOf(const CodedPlane& plane, const PlaneBands& constants, float step,
                                  uint32_t head, std::span<const uint8_t> table_of,
                                  std::span<const uint32_t> row_of) const {
  CodedBand band;
  band.first_head = head;
  const uint32_t padded = SplitSize(plane.size);
  const size_t from = size_t{format.first_head + head} * plane.size;
  band.means.resize(size_t{plane.heads} * padded);
  band.in_scales.resize(band.means.size());
  band.out_scales.resize(band.means.size());
  for (uint32_t i = 0; i < row_of.size(); ++i) {
    const size_t place = size_t{i / plane.size} * padded + SplitPlace(i % plane.size);
    band.means[place] = constants.mean[from + i];
    band.in_scales[place] = constants.in_scale[from + i];
    band.out_scales[place] = (is_ac ? constants.ac_step : constants.out_scale)[from + i] * step;
  }
  // AC: a place for each value; KTC: for each coded component, in the order of rows.
  std::vector<uint32_t> components;
  for (uint32_t i = 0; i < row_of.size(); ++i) {
    if (row_of[i] != kNoRow) {
      components.push_back(i);
    }
  }
  std::ranges::sort(components, {}, [&](uint32_t i) { return row_of[i]; });
  const auto places = is_ac ? static_cast<uint32_t>(band.means.size())
                            : SplitSize(static_cast<uint32_t>(components.size()));
  band.rows.assign(places, kNoRow);
  band.parts.resize(places);
  band.rounding.resize(places);
  band.zero_below.assign(places, 1);
  const uint32_t index = is_ac ? 0 : (format.first_head + head) / plane.heads;
  for (uint32_t k = 0; k < components.size(); ++k) {
    const uint32_t i = components[k];
    const uint32_t at = is_ac ? i / plane.size * padded + i % plane.size : k;
    const uint32_t place = SplitPlace(at);
    band.rows[at] = row_of[i];
    band.parts[place] =
        is_ac ? SymbolTable::kStepParts / band.out_scales[place]
              : constants.bands[index].component_scale[i] * SymbolTable::kStepParts / step;
    band.rounding[place] = rung.tables[table_of[i]].rounding;
    band.zero_below[place] = rung.tables[table_of[i]].zero_below;
  }
  for (uint32_t place = 0; is_ac && place < places; ++place) {
    const uint32_t split = SplitPlace(PackedValue(place));
    band.packed_rounding.push_back(static_cast<uint16_t>(band.rounding[split]));
    band.packed_zero_below.push_back(static_cast<uint16_t>(band.zero_below[split]));
  }
  if (!is_ac) {
    SetMatrices(band, constants.bands[index], components, plane.size);
  }
  return band;
}

}  // namespace

CodedPlanes::CodedPlanes(const TrackFormat& format, const Bands& bands,
                         std::span<const LayerShape> layers) {
  const size_t rung_index = *BandRungIndex(format.rung);
  const CodedPlaneMaker maker = {format, bands, rung_index, bands.rungs[rung_index],
                                 format.rung == Rung::kAc};
  size_t plane_index = 0;
  for (uint32_t layer = 0; layer < layers.size(); ++layer) {
    const bool wanted =
        layer >= format.first_layer && layer - format.first_layer < format.layers.size();
    for (const Plane plane : {Plane::kKey, Plane::kValue}) {
      if (layers[layer].size(plane) == 0) {
        continue;
      }
      if (wanted) {
        planes.push_back(maker.PlaneOf(layers[layer], layer - format.first_layer, plane,
                                       bands.planes[plane_index]));
      }
      ++plane_index;
    }
  }
  for (const CodedPlane& plane : planes) {
    rows += plane.rows;
    most_rows = std::max(most_rows, plane.rows);
  }
  for (CodedPlane& plane : planes) {
    for (CodedBand& band : plane.bands) {
      std::ranges::replace(band.rows, kNoRow, most_rows);
    }
  }
}

}  // namespace kvcast
