// Values out of numbers of AC and KTC, over any set of vectors `V` that works on 32 values
// at a time, half of them the even ones. Included inside a target region by the one source of each
// instruction set, which defines V.
#pragma once

#include <cstring>

#include "kvcast/codec/band_rows.h"
#include "kvcast/codec/bands.h"
#include "kvcast/codec/number_rows.h"
#include "kvcast/codec/rans.h"
#include "kvcast/codec/simd_target.h"
#include "kvcast/codec/symbol_table.h"

namespace kvcast {
namespace {

template <typename V>
struct SplitValues {
  typename V::Half even;
  typename V::Half odd;
};

// A part of a row that is shorter than a group, on no line's border: what goes past the caches is
// slow to read.
struct ShortGroup {
  alignas(64) std::byte unused[16];
  std::byte values[kSplitGroup * kPageValueBytes] = {};
};

inline constexpr uint32_t kHalfGroup = kSplitGroup / 2;

template <typename V>
inline SplitValues<V> FromNumbers(const int16_t* from) {
  return {V::EvenFloats(from), V::OddFloats(from)};
}
template <typename V>
inline SplitValues<V> FromNumbers(const int8_t* from) {
  return {V::EvenFloats(from), V::OddFloats(from)};
}
template <typename V>
inline SplitValues<V> FromNumbers(const uint32_t* from) {
  return {V::Floats(from), V::Floats(from + kHalfGroup)};
}

// x and y by an angle.
template <typename V>
inline void TurnPair(typename V::Half& x, typename V::Half& y, const float* cosines,
                     const float* sines) {
  const typename V::Half c = V::Load(cosines);
  const typename V::Half s = V::Load(sines);
  const typename V::Half turned = V::Minus(V::Times(x, c), V::Times(y, s));
  y = V::Plus(V::Times(y, c), V::Times(x, s));
  x = turned;
}
template <typename V, typename Number>
inline SplitValues<V> Restored(const Number* numbers, uint32_t at, const float* scales,
                               const float* means) {
  SplitValues<V> x = FromNumbers<V>(numbers + at);
  x.even = V::Plus(V::Load(means + at), V::Times(x.even, V::Load(scales + at)));
  x.odd =
      V::Plus(V::Load(means + at + kHalfGroup), V::Times(x.odd, V::Load(scales + at + kHalfGroup)));
  return x;
}

template <typename V, HalfType kType>
inline void StoreGroup(std::byte* row, uint32_t at, uint32_t size, const SplitValues<V>& x) {
  if (at + kSplitGroup <= size) {
    V::template StoreValues<kType>(row + size_t{at} * kPageValueBytes, x.even, x.odd);
    return;
  }
  ShortGroup rest;
  V::template StoreValues<kType>(rest.values, x.even, x.odd);
  std::memcpy(row + size_t{at} * kPageValueBytes, rest.values, (size - at) * kPageValueBytes);
}

// One head of a token; its constants and numbers begin at `base`.
template <typename V, HalfType kType, typename Number>
inline void RestoreRow(const HeadRows<std::byte>& to, uint32_t token, std::byte* row, uint32_t base,
                       const float* scales, const Number* numbers) {
  const RowTurns& turns = to.turns;
  const bool turned = turns.cosines != nullptr;
  const uint32_t begin = turned ? turns.first : to.size;
  const uint32_t end = turned ? turns.first + 2 * turns.pairs : to.size;
  for (uint32_t at = begin == 0 ? end : 0; at < to.size;
       at = at + kSplitGroup == begin ? end : at + kSplitGroup) {
    StoreGroup<V, kType>(row, at, to.size, Restored<V>(numbers, base + at, scales, to.means));
  }
  if (!turned) {
    return;
  }
  const float* const cosines = turns.cosines + token * turns.stride;
  const float* const sines = turns.sines + token * turns.stride;
  if (turns.adjacent) {
    for (uint32_t at = begin; at < end; at += kSplitGroup) {
      SplitValues<V> x = Restored<V>(numbers, base + at, scales, to.means);
      const uint32_t pair = (at - begin) / 2;
      TurnPair<V>(x.even, x.odd, cosines + pair, sines + pair);
      StoreGroup<V, kType>(row, at, to.size, x);
    }
    return;
  }
  for (uint32_t pair = 0; pair < turns.pairs; pair += kSplitGroup) {
    const uint32_t at = begin + pair;
    SplitValues<V> x = Restored<V>(numbers, base + at, scales, to.means);
    SplitValues<V> y = Restored<V>(numbers, base + at + turns.pairs, scales, to.means);
    TurnPair<V>(x.even, y.even, cosines + pair, sines + pair);
    TurnPair<V>(x.odd, y.odd, cosines + pair + kHalfGroup, sines + pair + kHalfGroup);
    StoreGroup<V, kType>(row, at, to.size, x);
    StoreGroup<V, kType>(row, at + turns.pairs, to.size, y);
  }
}

// Token by token, as pages lie.
template <typename V, typename Number>
inline void RestoreRows(const HeadRows<std::byte>& heads, const float* scales,
                        const Number* numbers, size_t stride) {
  const HeadRows<std::byte> to = heads;  // Bytes that are written could be anything's.
  for (uint32_t token = 0; token < to.tokens; ++token, numbers += stride) {
    for (uint32_t head = 0; head < to.heads; ++head) {
      std::byte* const row = to.rows[token] + head * to.head_stride;
      const uint32_t base = head * SplitSize(to.size);
      to.type == HalfType::kBf16
          ? RestoreRow<V, HalfType::kBf16>(to, token, row, base, scales, numbers)
          : RestoreRow<V, HalfType::kFp16>(to, token, row, base, scales, numbers);
    }
  }
}

// Which symbol stands for an upper part, by what it is more than the least that can be named.
inline void NamesOfUppers(const RansTable& table, uint8_t* names) {
  for (size_t i = 0; i < SymbolTable::kSymbols - 1; ++i) {
    names[i] = table.symbol_of_value[(i - SymbolTable::kNamedMax) & 0xff];
  }
  names[SymbolTable::kSymbols - 1] = kOtherSymbol;
}

template <typename V>
void SimdRestoreNumbers(const HeadRows<std::byte>& to, const float* scales, const int16_t* numbers,
                        size_t stride) {
  to.turns.InGroups() ? RestoreRows<V>(to, scales, numbers, stride)
                      : kScalarKernels.bands->restore_numbers(to, scales, numbers, stride);
}
template <typename V>
void SimdRestoreBytes(const HeadRows<std::byte>& to, const float* scales, const int8_t* numbers,
                      size_t stride) {
  to.turns.InGroups() ? RestoreRows<V>(to, scales, numbers, stride)
                      : kScalarKernels.bytes->restore_numbers(to, scales, numbers, stride);
}
template <typename V>
void SimdRestoreSums(const HeadRows<std::byte>& to, const float* scales, const uint32_t* sums,
                     size_t stride) {
  to.turns.InGroups() ? RestoreRows<V>(to, scales, sums, stride)
                      : kScalarKernels.bands->restore_sums(to, scales, sums, stride);
}
}  // namespace
}  // namespace kvcast
