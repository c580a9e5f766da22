#include "kvcast/codec/band_fitting.h"

#include <algorithm>
#include <cmath>

namespace kvcast {
namespace {

// The steps of AC, KTC-coarse, -medium and -fine, as shares of how large components are in all:
// what a rung costs a model depends on these, much more than how many bits they take.
constexpr double kSteps[] = {0.3, 0.57, 0.32, 0.205};
// What a bit is worth in squared error, in squares of the step: about what uniform steps pay.
constexpr double kBitWorth = 0.12;

// Components of about the same mean magnitude, in steps, have one table: four to an octave.
constexpr double kSizesPerOctave = 4;
constexpr double kLeastSize = -3.5;  // Octaves. What is smaller counts as 0.
constexpr uint32_t kSizes = 46;

double Magnitude(uint32_t size) { return std::exp2(size / kSizesPerOctave + kLeastSize); }

// PlaneBands::kSkipped, or which table.
uint8_t TableOfSize(double magnitude, Plane plane) {
  const double size = (std::log2(std::max(magnitude, 1e-30)) - kLeastSize) * kSizesPerOctave;
  if (size < 0) {
    return PlaneBands::kSkipped;
  }
  const auto index = static_cast<uint32_t>(std::min(std::lround(size), long{kSizes - 1}));
  return static_cast<uint8_t>(plane == Plane::kKey ? index : index + kSizes);
}

// How components of a mean magnitude are best rounded, if they fall off exponentially.
SymbolTable RoundingFor(double magnitude) {
  const double half = std::exp(-0.5 / magnitude);
  const double rest = std::exp(-1.0 / magnitude);
  const double first = std::log2((1 - half) / std::max(half * (1 - rest) / 2, 1e-12));
  const double next = 1 / (magnitude * std::log(2.0));
  SymbolTable table;
  const double zero = 0.5 + std::clamp(kBitWorth / 2 * first, 0.0, 0.45);
  const double shift = std::clamp(kBitWorth / 2 * next, 0.0, 0.3);
  table.zero_below = static_cast<uint16_t>(std::lround(zero * SymbolTable::kStepParts));
  table.rounding = static_cast<uint8_t>(std::lround((0.5 - shift) * SymbolTable::kStepParts));
  return table;
}

}  // namespace

BandFitting::BandFitting(std::span<const LayerShape> layers, HalfType type, Bands bands)
    : layers_(layers.begin(), layers.end()), type_(type), bands_(std::move(bands)) {
  for (uint32_t layer = 0; layer < layers_.size(); ++layer) {
    for (const Plane plane : {Plane::kKey, Plane::kValue}) {
      if (const uint32_t size = layers_[layer].size(plane); size > 0) {
        places_.push_back({layer, plane, 0, layers_[layer].kv_heads, size});
        Magnitudes& magnitudes = magnitudes_.emplace_back();
        magnitudes.values.resize(places_.back().values());
        magnitudes.components.resize(places_.back().values());
      }
    }
  }
}

// Calls use(plane index, values, components) with components of values as steps of 1 would give.
template <typename Use>
void BandFitting::ForEachToken(const BlockView& block, uint32_t every, Use use) const {
  const uint32_t tokens = block.shape().tokens();
  std::vector<TurnTable> turns;
  for (const Rope& rope : bands_.ropes) {
    turns.emplace_back(rope, block.position(), tokens);
  }
  for (size_t p = 0; p < places_.size(); ++p) {
    const BandPlace& place = places_[p];
    const PlaneBands& plane = bands_.planes[p];
    const uint8_t rope =
        place.plane == Plane::kKey ? bands_.rope_of_layer[place.layer] : Bands::kNoRope;
    const uint32_t n = place.values();
    std::vector<float> values(n);
    std::vector<float> components(n);
    std::vector<int16_t> whole(n);
    for (uint32_t token = 0; token < tokens; token += every) {
      ReadUnturned(block, type_, place, token, token,
                   rope == Bands::kNoRope ? nullptr : &turns[rope], values.data());
      for (uint32_t i = 0; i < n; ++i) {
        values[i] -= plane.mean[i];
        whole[i] = static_cast<int16_t>(
            RoundedWithin(values[i] * plane.in_scale[i], float{BandMatrix::kReach}));
        values[i] /= plane.ac_step[i];
      }
      uint32_t at = 0;
      for (const BandMatrix& band : plane.bands) {
        const auto m = static_cast<uint32_t>(band.component_scale.size());
        for (uint32_t c = 0; c < m; ++c) {
          components[at + c] = band.component_scale[c] *
                               static_cast<float>(RowProduct(band.forward.data() + size_t{c} * m,
                                                             whole.data() + at, m));
        }
        at += m;
      }
      use(p, values, components);
    }
  }
}

void BandFitting::AddMagnitudes(const BlockView& block, uint32_t every) {
  ForEachToken(
      block, every,
      [&](size_t p, const std::vector<float>& values, const std::vector<float>& components) {
        const auto plane = static_cast<size_t>(places_[p].plane);
        for (size_t i = 0; i < values.size(); ++i) {
          magnitudes_[p].values[i] += std::abs(double{values[i]});
          magnitudes_[p].components[i] += std::abs(double{components[i]});
          squares_[plane] += double{components[i]} * double{components[i]};
        }
        counts_[plane] += static_cast<double>(values.size());
      });
  tokens_ += (block.shape().tokens() + every - 1) / every;
}

void BandFitting::FitSteps() {
  const auto step = [&](size_t rung, size_t plane) {
    const double root = std::sqrt(squares_[plane] / std::max(counts_[plane], 1.0));
    return static_cast<float>(std::clamp(kSteps[rung] * root, 0x1p-39, 0x1p39));
  };
  for (size_t rung = 0; rung < kRungs; ++rung) {
    bands_.rungs[rung].key_step = step(rung, 0);
    bands_.rungs[rung].value_step = step(rung, 1);
    SetTables(rung);
  }
}

// Which table each component has, and how tables round.
void BandFitting::SetTables(size_t rung) {
  BandRung& constants = bands_.rungs[rung];
  constants.tables.clear();
  for (uint32_t table = 0; table < 2 * kSizes; ++table) {
    constants.tables.push_back(RoundingFor(Magnitude(table % kSizes)));
  }
  for (size_t p = 0; p < places_.size(); ++p) {
    const double step = double{constants.Step(places_[p].plane)};
    std::vector<uint8_t>& tables = bands_.planes[p].tables[rung];
    tables.clear();
    for (const double sum : magnitudes_[p].Of(rung)) {
      tables.push_back(TableOfSize(sum / static_cast<double>(tokens_) / step, places_[p].plane));
    }
  }
  numbers_[rung].assign(constants.tables.size(), {});
}

void BandFitting::AddNumbers(const BlockView& block, uint32_t every) {
  ForEachToken(
      block, every,
      [&](size_t p, const std::vector<float>& values, const std::vector<float>& components) {
        for (size_t rung = 0; rung < kRungs; ++rung) {
          const BandRung& constants = bands_.rungs[rung];
          const float parts = SymbolTable::kStepParts / constants.Step(places_[p].plane);
          const std::vector<uint8_t>& tables = bands_.planes[p].tables[rung];
          const std::vector<float>& own = rung == 0 ? values : components;
          for (size_t i = 0; i < own.size(); ++i) {
            if (tables[i] == PlaneBands::kSkipped) {
              continue;
            }
            const SymbolTable& table = constants.tables[tables[i]];
            numbers_[rung][tables[i]].Add(table.NumberOf(RoundedWithin(own[i] * parts, kPartsMax)));
          }
        }
      });
}

void BandFitting::FitTables() {
  for (size_t rung = 0; rung < kRungs; ++rung) {
    std::vector<SymbolTable>& tables = bands_.rungs[rung].tables;
    for (size_t i = 0; i < tables.size(); ++i) {
      tables[i] = numbers_[rung][i].Fitted(tables[i]);
    }
  }
}

}  // namespace kvcast
