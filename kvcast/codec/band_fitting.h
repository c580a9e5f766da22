#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "kvcast/codec/band_rows.h"
#include "kvcast/codec/bands.h"
#include "kvcast/codec/half_type.h"

namespace kvcast {

// Finds the steps and tables of bands whose matrices are known: first how large components are,
// from which the steps of all rungs follow, then how often each number is. Each takes a look at the
// samples of its own.
class BandFitting {
 public:
  BandFitting(std::span<const LayerShape> layers, HalfType type, Bands bands);

  // Every so many tokens of a block are looked at.
  void AddMagnitudes(const BlockView& block, uint32_t every);
  void FitSteps();
  void AddNumbers(const BlockView& block, uint32_t every);
  void FitTables();

  const Bands& bands() const { return bands_; }

 private:
  static constexpr size_t kRungs = kBandRungs.size();
  // Per component, as values and as components of a matrix.
  struct Magnitudes {
    std::vector<double> values;
    std::vector<double> components;
    const std::vector<double>& Of(size_t rung) const { return rung == 0 ? values : components; }
  };

  template <typename Use>
  void ForEachToken(const BlockView& block, uint32_t every, Use use) const;
  void SetTables(size_t rung);

  std::vector<LayerShape> layers_;
  HalfType type_;
  Bands bands_;
  std::vector<BandPlace> places_;
  std::vector<Magnitudes> magnitudes_;  // Per plane.
  // Squares of the components of all K and all V: what steps are relative to.
  std::array<double, 2> squares_{};
  std::array<double, 2> counts_{};
  uint64_t tokens_ = 0;
  std::array<std::vector<NumberCounts>, kRungs> numbers_;  // Per rung and table.
};

}  // namespace kvcast
