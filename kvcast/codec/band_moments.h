#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kvcast/codec/band_rows.h"
#include "kvcast/codec/bands.h"
#include "kvcast/codec/half_type.h"
#include "kvcast/codec/symmetric_eigen.h"
#include "kvcast/kv/block_view.h"

namespace kvcast {

// What the values of a model's caches are like together, and what errors in them do: from this the
// matrices of bands are made.
//
// An error in K counts by the queries that meet it, wherever they stand; an error in V by what the
// output projection makes of it. Where neither is known, all values count the same. The same blocks
// in the same order give the same constants.
class BandMoments {
 public:
  // `ropes` of all layers, one each.
  BandMoments(std::span<const LayerShape> layers, HalfType type, std::span<const Rope> ropes,
              BandForm form);

  HalfType type() const { return type_; }

  // REQUIRES: a block of these layers.
  void Add(const BlockView& block);
  // Queries before RoPE, [tokens, heads, key_size]; heads are a multiple of the KV heads.
  void AddQueries(uint32_t layer, std::span<const float> queries, uint32_t heads);
  // What an output projection [rows, heads * value_size] makes of values.
  void AddProjection(uint32_t layer, std::span<const float> rows, uint32_t heads);

  // With everything but steps and tables.
  Bands Finished() const;

 private:
  struct PlaneMoments {
    std::vector<double> sum;
    std::vector<float> largest;
    std::vector<double> products;       // Of each band, [band][value][value].
    std::vector<SquareMatrix> weights;  // Of each head; empty if all count the same.
  };
  // Products of rows, one for each head in turn, of heads that share those of the plane.
  void AddWeights(uint32_t layer, Plane plane, std::span<const float> rows, uint32_t heads);
  SquareMatrix Covariance(const PlaneMoments& moments, size_t band, uint32_t values) const;
  PlaneBands FinishedPlane(const BandPlace& place, const PlaneMoments& moments) const;
  std::vector<SquareMatrix> Weights(const BandPlace& place, const PlaneMoments& moments) const;
  SquareMatrix WeightOfHead(const BandPlace& place, const PlaneMoments& moments,
                            uint32_t head) const;

  std::vector<LayerShape> layers_;
  HalfType type_;
  std::vector<Rope> ropes_;
  BandForm form_;
  std::vector<BandPlace> places_;  // Whole planes, in canonical order.
  std::vector<PlaneMoments> planes_;
  uint64_t tokens_ = 0;
};

}  // namespace kvcast
