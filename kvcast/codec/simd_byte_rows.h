// Values as numbers of a byte, by component, 16 tokens at a time. Included inside a target region,
// as simd_numbers.h is.
#pragma once

#include <algorithm>
#include <cstring>

#include "kvcast/codec/simd_numbers.h"
#include "kvcast/codec/simd_transpose.h"

namespace kvcast {
namespace {

// Numbers of two groups, of 16 tokens: by token, the eighths of both in turn.
struct ByteBlock {
  static constexpr uint32_t kTokens = 16;
  static constexpr uint32_t kBytes = 2 * kSplitGroup;
  // Which of its group's values stands at a place, and whether that is the second.
  static uint32_t ValueAt(uint32_t place) {
    return place / (2 * kPackedGroup) * kPackedGroup + PackedValue(place % kPackedGroup);
  }
  static bool IsOfSecond(uint32_t place) { return place / kPackedGroup % 2 != 0; }

  alignas(64) int8_t bytes[kTokens][kBytes];
};

// The rows that a block's numbers belong to.
struct BlockRows {
  int8_t* numbers;  // The first token's.
  size_t stride;
  const uint32_t* first;  // Places of the groups' rows.
  const uint32_t* second;

  int8_t* Row(uint32_t place) const {
    return numbers +
           (ByteBlock::IsOfSecond(place) ? second : first)[ByteBlock::ValueAt(place)] * stride;
  }
};

// How the values of a group become bytes.
template <typename V>
struct ByteMaker {
  SplitValues<V> means;
  SplitValues<V> parts;
  typename V::Packed rounding;
  typename V::Packed zero_below;

  ByteMaker(const float* all_means, const NumberRounding& by, uint32_t at)
      : means{V::Load(all_means + at), V::Load(all_means + at + kHalfGroup)},
        parts{V::Load(by.parts + at), V::Load(by.parts + at + kHalfGroup)},
        rounding(V::LoadPacked(by.packed_rounding + at)),
        zero_below(V::LoadPacked(by.packed_zero_below + at)) {}
  inline typename V::Packed Of(const SplitValues<V>& x, typename V::Packed& seen) const {
    const typename V::Packed words =
        V::PackedParts(V::Times(V::Minus(x.even, means.even), parts.even),
                       V::Times(V::Minus(x.odd, means.odd), parts.odd));
    return V::SmallNumbers(words, rounding, zero_below, seen);
  }
};

// Pairs that lie side by side, where they are turned.
template <typename V>
inline void TurnGroupBack(const RowTurns& turns, uint32_t token, uint32_t at, SplitValues<V>& x) {
  if (turns.cosines == nullptr || !turns.adjacent || at < turns.first ||
      at >= turns.first + 2 * turns.pairs) {
    return;
  }
  const size_t pair = token * turns.stride + (at - turns.first) / 2;
  TurnPairBack<V>(x.even, x.odd, turns.cosines + pair, turns.sines + pair);
}

// Which pairs of a block's values are turned: those of one group by those of the other, or
// neighbours.
enum class PairTurn { kNone, kApart, kAdjacent };

template <typename V>
struct BlockMaker {
  const HeadRows<const std::byte>& from;
  const NumberRounding& by;
  uint32_t head;
  GroupPair pair;

  template <HalfType kType, bool kWhole>
  static inline SplitValues<V> Loaded(const std::byte* row, uint32_t at, uint32_t size,
                                      typename V::Packed& largest) {
    SplitValues<V> x;
    if (kWhole || at + kSplitGroup <= size) {
      V::template LoadAny<kType>(row + size_t{at} * kPageValueBytes, x.even, x.odd, largest);
      return x;
    }
    ShortGroup rest;
    std::memcpy(rest.values, row + size_t{at} * kPageValueBytes, (size - at) * kPageValueBytes);
    V::template LoadAny<kType>(rest.values, x.even, x.odd, largest);
    return x;
  }
  // Whether all of them are numbers of a byte.
  template <HalfType kType, PairTurn kTurn, bool kWhole>
  inline bool Make(uint32_t first_token, uint32_t tokens, ByteBlock& block) const {
    const RowTurns turns = from.turns;
    const std::byte* const* const rows = from.rows + first_token;
    const size_t in_row = head * from.head_stride;
    const uint32_t size = from.size;
    const size_t turn = kTurn == PairTurn::kApart ? pair.first - turns.first : 0;
    const uint32_t base = head * SplitSize(size);
    const ByteMaker<V> first(from.means, by, base + pair.first);
    const ByteMaker<V> second(from.means, by, base + pair.second);
    typename V::Packed seen = V::NoPacked();
    typename V::Packed largest = V::NoPacked();
    for (uint32_t i = 0; i < tokens; ++i) {
      const std::byte* const row = rows[i] + in_row;
      SplitValues<V> x = Loaded<kType, kWhole>(row, pair.first, size, largest);
      SplitValues<V> y = Loaded<kType, kWhole>(row, pair.second, size, largest);
      if constexpr (kTurn == PairTurn::kApart) {
        const size_t at = (first_token + i) * turns.stride + turn;
        TurnPairBack<V>(x.even, y.even, turns.cosines + at, turns.sines + at);
        TurnPairBack<V>(x.odd, y.odd, turns.cosines + at + kHalfGroup,
                        turns.sines + at + kHalfGroup);
      } else if constexpr (kTurn == PairTurn::kAdjacent) {
        TurnGroupBack<V>(turns, first_token + i, pair.first, x);
        TurnGroupBack<V>(turns, first_token + i, pair.second, y);
      }
      V::StorePackedBytes(block.bytes[i], first.Of(x, seen), second.Of(y, seen));
    }
    constexpr int32_t kLargest = kType == HalfType::kBf16 ? kBf16Largest : kHalfLargest;
    return V::AllBelow(seen, NumberRounding::kBytePartsEnd) &&
           V::AllBelow(largest, 2 * kLargest + 1);
  }
  template <HalfType kType>
  bool MakeOf(bool apart, uint32_t token, uint32_t tokens, ByteBlock& block) const {
    const bool whole = std::max(pair.first, pair.second) + kSplitGroup <= from.size;
    if (apart) {
      return Make<kType, PairTurn::kApart, true>(token, tokens, block);
    }
    if (from.turns.cosines != nullptr && from.turns.adjacent) {
      return Make<kType, PairTurn::kAdjacent, false>(token, tokens, block);
    }
    return whole ? Make<kType, PairTurn::kNone, true>(token, tokens, block)
                 : Make<kType, PairTurn::kNone, false>(token, tokens, block);
  }
};

template <typename V>
bool SimdNumberRows(const HeadRows<const std::byte>& from, const NumberRounding& by,
                    uint32_t first_pair, uint32_t pairs, const NumberRows<int8_t>& rows) {
  if (!from.turns.InGroups()) {
    return kScalarKernels.bytes->number_rows(from, by, first_pair, pairs, rows);
  }
  const GroupPairs all(from.turns, from.size);
  bool fits = true;
  ByteBlock block;
  for (uint32_t index = first_pair; index < first_pair + pairs; ++index) {
    const uint32_t head = index / all.count();
    const uint32_t in_head = index % all.count();
    const uint32_t* const places = rows.places + head * SplitSize(from.size);
    const BlockMaker<V> maker = {from, by, head, all[in_head]};
    for (uint32_t token = 0; token < from.tokens; token += ByteBlock::kTokens) {
      const uint32_t tokens = std::min(ByteBlock::kTokens, from.tokens - token);
      fits &=
          from.type == HalfType::kBf16
              ? maker.template MakeOf<HalfType::kBf16>(all.IsApart(in_head), token, tokens, block)
              : maker.template MakeOf<HalfType::kFp16>(all.IsApart(in_head), token, tokens, block);
      const BlockRows to = {rows.first + token, rows.stride, places + maker.pair.first,
                            places + maker.pair.second};
      if (tokens == ByteBlock::kTokens) {
        V::PutBlock(block, to);
        continue;
      }
      for (uint32_t place = 0; place < ByteBlock::kBytes; ++place) {
        for (uint32_t i = 0; i < tokens; ++i) {
          to.Row(place)[i] = block.bytes[i][place];
        }
      }
    }
  }
  return fits;
}

}  // namespace
}  // namespace kvcast
