#include "kvcast/codec/band_moments.h"

#include <algorithm>
#include <cmath>

#include "kvcast/base/check.h"

namespace kvcast {
namespace {

// Errors that count for nothing in the samples may still count: a thousandth of the mean.
constexpr double kWeightFloor = 1e-3;
// Queries are averaged over how far keys may lie behind them: tokens, and how many places of them.
constexpr uint32_t kLookBack = 1024;
constexpr uint32_t kLookBackPlaces = 64;
constexpr double kRowLength = 8192;  // Of a row of `forward`: products then fit into 32 bits.
constexpr double kSmallest = 0x1p-38;
constexpr double kLargest = 0x1p38;

float BandFloat(double value) { return static_cast<float>(std::clamp(value, kSmallest, kLargest)); }

int16_t Word(double value) {
  return static_cast<int16_t>(std::llround(std::clamp(value, -32767.0, 32767.0)));
}

// What becomes of products of queries when they are turned, on average over places.
SquareMatrix TurnedAround(const SquareMatrix& products, const Rope& rope) {
  const size_t n = products.size;
  if (rope.pairs() == 0) {
    return products;
  }
  SquareMatrix sum(n);
  const TurnTable turns(rope, 0, kLookBack);
  std::vector<float> turned(n * n);
  std::vector<float> column(n);
  for (uint32_t token = 0; token < kLookBack; token += kLookBack / kLookBackPlaces) {
    std::ranges::transform(products.values, turned.begin(),
                           [](double value) { return static_cast<float>(value); });
    for (size_t i = 0; i < n; ++i) {
      turns.Turn(token, turned.data() + i * n);
    }
    for (size_t i = 0; i < n; ++i) {
      for (size_t j = 0; j < n; ++j) {
        column[j] = turned[j * n + i];
      }
      turns.Turn(token, column.data());
      for (size_t j = 0; j < n; ++j) {
        sum(j, i) += double{column[j]} / kLookBackPlaces;
      }
    }
  }
  for (size_t i = 0; i < n; ++i) {
    for (size_t j = 0; j < i; ++j) {
      sum(i, j) = sum(j, i) = (sum(i, j) + sum(j, i)) / 2;
    }
  }
  return sum;
}

void AddProducts(std::span<const float> row, SquareMatrix& sum) {
  for (size_t i = 0; i < row.size(); ++i) {
    double* const to = sum.Row(i);
    for (size_t j = 0; j < row.size(); ++j) {
      to[j] += double{row[i]} * double{row[j]};
    }
  }
}

// A matrix with each head's own on its diagonal.
SquareMatrix Together(std::span<const SquareMatrix> heads) {
  const size_t size = heads[0].size;
  SquareMatrix whole(size * heads.size());
  for (size_t head = 0; head < heads.size(); ++head) {
    for (size_t i = 0; i < size; ++i) {
      std::copy_n(heads[head].Row(i), size, whole.Row(head * size + i) + head * size);
    }
  }
  return whole;
}

}  // namespace

BandMoments::BandMoments(std::span<const LayerShape> layers, HalfType type,
                         std::span<const Rope> ropes, BandForm form)
    : layers_(layers.begin(), layers.end()),
      type_(type),
      ropes_(ropes.begin(), ropes.end()),
      form_(form) {
  KVCAST_CHECK(ropes_.size() == layers_.size());
  for (uint32_t layer = 0; layer < layers_.size(); ++layer) {
    for (const Plane plane : {Plane::kKey, Plane::kValue}) {
      const uint32_t size = layers_[layer].size(plane);
      if (size == 0) {
        continue;
      }
      places_.push_back({layer, plane, 0, layers_[layer].kv_heads, size});
      const size_t values = places_.back().values();
      const size_t together = form_ == BandForm::kLayer ? values : size;
      PlaneMoments& moments = planes_.emplace_back();
      moments.sum.resize(values);
      moments.largest.resize(values);
      moments.products.resize(values * together);
    }
  }
}

void BandMoments::Add(const BlockView& block) {
  const uint32_t tokens = block.shape().tokens();
  std::vector<TurnTable> turns;
  for (const Rope& rope : ropes_) {
    // Most models have one for all layers, which is made once.
    const bool again = !turns.empty() && rope == ropes_[turns.size() - 1];
    turns.push_back(again ? turns.back() : TurnTable(rope, block.position(), tokens));
  }
  for (size_t p = 0; p < places_.size(); ++p) {
    const BandPlace& place = places_[p];
    PlaneMoments& moments = planes_[p];
    const uint32_t n = place.values();
    const uint32_t together = form_ == BandForm::kLayer ? n : place.size;
    const TurnTable* const own = place.plane == Plane::kKey ? &turns[place.layer] : nullptr;
    std::vector<float> values(n);
    std::vector<float> products(moments.products.size());
    for (uint32_t token = 0; token < tokens; ++token) {
      ReadUnturned(block, type_, place, token, token, own, values.data());
      for (uint32_t i = 0; i < n; ++i) {
        moments.sum[i] += double{values[i]};
        moments.largest[i] = std::max(moments.largest[i], std::abs(values[i]));
        const uint32_t first = i / together * together;
        float* const to = products.data() + size_t{i} * together;
        for (uint32_t j = first; j <= i; ++j) {
          to[j - first] += values[i] * values[j];
        }
      }
    }
    std::ranges::transform(moments.products, products, moments.products.begin(),
                           [](double sum, float more) { return sum + double{more}; });
  }
  tokens_ += tokens;
}

void BandMoments::AddQueries(uint32_t layer, std::span<const float> queries, uint32_t heads) {
  AddWeights(layer, Plane::kKey, queries, heads);
}

void BandMoments::AddProjection(uint32_t layer, std::span<const float> rows, uint32_t heads) {
  AddWeights(layer, Plane::kValue, rows, heads);
}

void BandMoments::AddWeights(uint32_t layer, Plane plane, std::span<const float> rows,
                             uint32_t heads) {
  const LayerShape& shape = layers_[layer];
  const uint32_t size = shape.size(plane);
  const auto place = std::ranges::find_if(places_, [&](const BandPlace& candidate) {
    return candidate.layer == layer && candidate.plane == plane;
  });
  KVCAST_CHECK(place != places_.end() && heads % shape.kv_heads == 0);
  PlaneMoments& moments = planes_[static_cast<size_t>(place - places_.begin())];
  moments.weights.resize(shape.kv_heads, SquareMatrix(size));
  const uint32_t sharing = heads / shape.kv_heads;
  for (size_t row = 0; (row + 1) * size <= rows.size(); ++row) {
    const auto head = static_cast<uint32_t>(row % heads);
    AddProducts(rows.subspan(row * size, size), moments.weights[head / sharing]);
  }
}

SquareMatrix BandMoments::Covariance(const PlaneMoments& moments, size_t band,
                                     uint32_t values) const {
  SquareMatrix covariance(values);
  const auto tokens = static_cast<double>(std::max<uint64_t>(tokens_, 1));
  const size_t first = band * values;
  for (uint32_t i = 0; i < values; ++i) {
    for (uint32_t j = 0; j <= i; ++j) {
      const double mean = moments.sum[first + i] / tokens * (moments.sum[first + j] / tokens);
      const double both = moments.products[(first + i) * values + j] / tokens - mean;
      covariance(i, j) = covariance(j, i) = both;
    }
  }
  return covariance;
}

SquareMatrix BandMoments::WeightOfHead(const BandPlace& place, const PlaneMoments& moments,
                                       uint32_t head) const {
  SquareMatrix weight(place.size);
  double trace = 0;
  if (!moments.weights.empty()) {
    const Rope& rope = ropes_[place.layer];
    weight = place.plane == Plane::kKey ? TurnedAround(moments.weights[head], rope)
                                        : moments.weights[head];
    for (uint32_t i = 0; i < place.size; ++i) {
      trace += weight(i, i);
    }
  }
  for (uint32_t i = 0; i < place.size; ++i) {
    weight(i, i) += trace > 0 ? kWeightFloor * trace / place.size : 1;
  }
  return weight;
}

// Of all heads. V's are made smaller by the root of what V does in all: a layer that adds more to a
// model's state finds more there already, so that its errors matter less than they are large.
std::vector<SquareMatrix> BandMoments::Weights(const BandPlace& place,
                                               const PlaneMoments& moments) const {
  std::vector<SquareMatrix> weights;
  double done = 0;
  for (uint32_t head = 0; head < place.heads; ++head) {
    weights.push_back(WeightOfHead(place, moments, head));
    const uint32_t together = form_ == BandForm::kLayer ? place.values() : place.size;
    const uint32_t first = head * place.size % together;
    const SquareMatrix covariance = Covariance(moments, head * place.size / together, together);
    for (uint32_t i = 0; i < place.size; ++i) {
      for (uint32_t j = 0; j < place.size; ++j) {
        done += weights.back()(i, j) * covariance(first + i, first + j);
      }
    }
  }
  if (place.plane == Plane::kValue && done > kSmallest) {
    for (SquareMatrix& weight : weights) {
      for (double& value : weight.values) {
        value /= std::sqrt(done);
      }
    }
  }
  return weights;
}

PlaneBands BandMoments::FinishedPlane(const BandPlace& place, const PlaneMoments& moments) const {
  PlaneBands plane;
  const uint32_t n = form_ == BandForm::kLayer ? place.values() : place.size;
  const auto tokens = static_cast<double>(std::max<uint64_t>(tokens_, 1));
  std::vector<SquareMatrix> roots;
  std::vector<SquareMatrix> inverse_roots;
  for (const SquareMatrix& weight : Weights(place, moments)) {
    const SymmetricEigen eigen = SymmetricEigen::Of(weight);
    roots.push_back(eigen.Root(kSmallest));
    inverse_roots.push_back(eigen.InverseRoot(kSmallest));
    for (uint32_t i = 0; i < place.size; ++i) {
      plane.ac_step.push_back(BandFloat(1 / std::sqrt(weight(i, i))));
    }
  }
  for (size_t band = 0; band * n < place.values(); ++band) {
    const SquareMatrix covariance = Covariance(moments, band, n);
    const size_t heads = n / place.size;
    const SquareMatrix root = Together(std::span(roots).subspan(band * heads, heads));
    const SquareMatrix back = Together(std::span(inverse_roots).subspan(band * heads, heads));
    const SymmetricEigen eigen = SymmetricEigen::Of(Product(Product(root, covariance), root));
    SquareMatrix forward = Product(eigen.vectors, root);
    const SquareMatrix inverse = Product(eigen.vectors, back);
    BandMatrix& matrix = plane.bands.emplace_back();
    for (uint32_t i = 0; i < n; ++i) {
      const size_t value = band * n + i;
      const double mean = moments.sum[value] / tokens;
      plane.mean.push_back(std::abs(mean) < kSmallest ? 0.0F : static_cast<float>(mean));
      const double deviation = std::sqrt(std::max(covariance(i, i), 0.0));
      const double reach =
          std::max({16 * deviation, 1.25 * (moments.largest[value] + std::abs(mean)), 0x1p-20});
      plane.in_scale.push_back(BandFloat(BandMatrix::kReach / reach));
      double most = 0;
      for (uint32_t c = 0; c < n; ++c) {
        most = std::max(most, std::abs(inverse(c, i)));
      }
      plane.out_scale.push_back(BandFloat(most / 32767));
    }
    for (uint32_t c = 0; c < n; ++c) {
      double square = 0;
      for (uint32_t i = 0; i < n; ++i) {
        forward(c, i) /= double{plane.in_scale[band * n + i]};
        square += forward(c, i) * forward(c, i);
      }
      const double length = std::max(std::sqrt(square), kSmallest);
      matrix.component_scale.push_back(BandFloat(length / kRowLength));
      for (uint32_t i = 0; i < n; ++i) {
        matrix.forward.push_back(Word(forward(c, i) / length * kRowLength));
        matrix.inverse.push_back(Word(inverse(c, i) / double{plane.out_scale[band * n + i]}));
      }
    }
  }
  return plane;
}

Bands BandMoments::Finished() const {
  Bands bands;
  bands.form = form_;
  for (const Rope& rope : ropes_) {
    const auto known = std::ranges::find(bands.ropes, rope);
    const auto index = static_cast<uint8_t>(known - bands.ropes.begin());
    if (rope.pairs() > 0 && known == bands.ropes.end()) {
      bands.ropes.push_back(rope);
    }
    bands.rope_of_layer.push_back(rope.pairs() > 0 ? index : Bands::kNoRope);
  }
  KVCAST_CHECK(bands.ropes.size() < Bands::kNoRope);  // Models have one or two.
  for (size_t p = 0; p < places_.size(); ++p) {
    bands.planes.push_back(FinishedPlane(places_[p], planes_[p]));
  }
  return bands;
}

}  // namespace kvcast
