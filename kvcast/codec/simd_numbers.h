// Numbers of AC and KTC out of values. Included inside a target region, as simd_bands.h is.
#pragma once

#include "kvcast/codec/simd_bands.h"

namespace kvcast {
namespace {

// As TurnPair, the other way.
template <typename V>
inline void TurnPairBack(typename V::Half& x, typename V::Half& y, const float* cosines,
                         const float* sines) {
  const typename V::Half c = V::Load(cosines);
  const typename V::Half s = V::Load(sines);
  const typename V::Half turned = V::Plus(V::Times(x, c), V::Times(y, s));
  y = V::Minus(V::Times(y, c), V::Times(x, s));
  x = turned;
}

template <typename V, HalfType kType>
inline SplitValues<V> LoadGroup(const std::byte* row, uint32_t at, uint32_t size) {
  SplitValues<V> x;
  if (at + kSplitGroup <= size) {
    V::template LoadValues<kType>(row + size_t{at} * kPageValueBytes, x.even, x.odd);
    return x;
  }
  ShortGroup rest;
  std::memcpy(rest.values, row + size_t{at} * kPageValueBytes, (size - at) * kPageValueBytes);
  V::template LoadValues<kType>(rest.values, x.even, x.odd);
  return x;
}

// Values less their means, times a scale, as whole numbers.
template <typename V>
struct WholeMaker {
  const float* scales;
  static constexpr auto kMost = static_cast<float>(BandMatrix::kReach);

  void Put(const SplitValues<V>& x, uint32_t at, int16_t* to) const {
    V::StoreNumbers(to + at, V::Rounded(V::Times(x.even, V::Load(scales + at)), kMost),
                    V::Rounded(V::Times(x.odd, V::Load(scales + at + kHalfGroup)), kMost));
  }
};

// As numbers of steps.
template <typename V>
struct NumberMaker {
  const NumberRounding by;

  typename V::Ints Of(const typename V::Half& x, uint32_t at) const {
    return V::Number(V::Rounded(V::Times(x, V::Load(by.parts + at)), kPartsMax), by.rounding + at,
                     by.zero_below + at);
  }
  template <typename Number>
  void Put(const SplitValues<V>& x, uint32_t at, Number* to) const {
    V::StoreNumbers(to + at, Of(x.even, at), Of(x.odd, at + kHalfGroup));
  }
};

template <typename V, typename Maker, typename Number>
inline void PutCentred(const SplitValues<V>& x, const float* means, uint32_t at, const Maker& maker,
                       Number* to) {
  maker.Put(
      {V::Minus(x.even, V::Load(means + at)), V::Minus(x.odd, V::Load(means + at + kHalfGroup))},
      at, to);
}

template <typename V, HalfType kType, typename Maker, typename Number>
inline void MakeRow(const HeadRows<const std::byte>& from, uint32_t token, const std::byte* row,
                    uint32_t base, const Maker& maker, Number* to) {
  const RowTurns& turns = from.turns;
  const bool turned = turns.cosines != nullptr;
  const uint32_t begin = turned ? turns.first : from.size;
  const uint32_t end = turned ? turns.first + 2 * turns.pairs : from.size;
  for (uint32_t at = begin == 0 ? end : 0; at < from.size;
       at = at + kSplitGroup == begin ? end : at + kSplitGroup) {
    PutCentred<V>(LoadGroup<V, kType>(row, at, from.size), from.means, base + at, maker, to);
  }
  if (!turned) {
    return;
  }
  const float* const cosines = turns.cosines + token * turns.stride;
  const float* const sines = turns.sines + token * turns.stride;
  if (turns.adjacent) {
    for (uint32_t at = begin; at < end; at += kSplitGroup) {
      SplitValues<V> x = LoadGroup<V, kType>(row, at, from.size);
      const uint32_t pair = (at - begin) / 2;
      TurnPairBack<V>(x.even, x.odd, cosines + pair, sines + pair);
      PutCentred<V>(x, from.means, base + at, maker, to);
    }
    return;
  }
  for (uint32_t pair = 0; pair < turns.pairs; pair += kSplitGroup) {
    const uint32_t at = begin + pair;
    SplitValues<V> x = LoadGroup<V, kType>(row, at, from.size);
    SplitValues<V> y = LoadGroup<V, kType>(row, at + turns.pairs, from.size);
    TurnPairBack<V>(x.even, y.even, cosines + pair, sines + pair);
    TurnPairBack<V>(x.odd, y.odd, cosines + pair + kHalfGroup, sines + pair + kHalfGroup);
    PutCentred<V>(x, from.means, base + at, maker, to);
    PutCentred<V>(y, from.means, base + at + turns.pairs, maker, to);
  }
}

template <typename V, typename Maker, typename Number>
inline void MakeRows(const HeadRows<const std::byte>& heads, const Maker& maker, Number* to,
                     size_t stride) {
  const HeadRows<const std::byte> from = heads;  // Bytes that are written could be anything's.
  for (uint32_t token = 0; token < from.tokens; ++token, to += stride) {
    for (uint32_t head = 0; head < from.heads; ++head) {
      const std::byte* const row = from.rows[token] + head * from.head_stride;
      const uint32_t base = head * SplitSize(from.size);
      from.type == HalfType::kBf16 ? MakeRow<V, HalfType::kBf16>(from, token, row, base, maker, to)
                                   : MakeRow<V, HalfType::kFp16>(from, token, row, base, maker, to);
    }
  }
}

template <typename V>
void SimdWholeValues(const HeadRows<const std::byte>& from, const float* scales, int16_t* whole,
                     size_t stride) {
  from.turns.InGroups() ? MakeRows<V>(from, WholeMaker<V>{scales}, whole, stride)
                        : kScalarKernels.bands->whole_values(from, scales, whole, stride);
}
template <typename V>
void SimdNumberValues(const HeadRows<const std::byte>& from, const NumberRounding& by,
                      int16_t* numbers, size_t stride) {
  from.turns.InGroups() ? MakeRows<V>(from, NumberMaker<V>{by}, numbers, stride)
                        : kScalarKernels.bands->number_values(from, by, numbers, stride);
}
template <typename V>
void SimdNumberSums(const uint32_t* sums, size_t rows, size_t count, const NumberRounding& by,
                    int16_t* numbers) {
  const NumberMaker<V> maker{by};
  for (size_t row = 0; row < rows; ++row, sums += count, numbers += count) {
    for (uint32_t at = 0; at < count; at += kSplitGroup) {
      maker.Put(FromNumbers<V>(sums + at), at, numbers);
    }
  }
}

}  // namespace
}  // namespace kvcast
