// Numbers of AC and KTC, and their entropy coding, one at a time: what the other kernels are held
// against.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "kvcast/codec/band_rows.h"
#include "kvcast/codec/bands.h"
#include "kvcast/codec/number_rows.h"
#include "kvcast/codec/rans.h"
#include "kvcast/codec/simd_kernels.h"
#include "kvcast/codec/symbol_table.h"

namespace kvcast {
namespace {

// Both values of each pair, and its cosine and sine.
template <typename Work>
void ForEachPair(const RowTurns& turns, uint32_t token, float* values, Work work) {
  const float* const cosines = turns.cosines + token * turns.stride;
  const float* const sines = turns.sines + token * turns.stride;
  for (uint32_t pair = 0; pair < turns.pairs; ++pair) {
    float* const x = values + turns.first + (turns.adjacent ? 2 * pair : pair);
    const uint32_t place = turns.PlaceOf(pair);
    work(x[0], x[turns.adjacent ? 1 : turns.pairs], cosines[place], sines[place]);
  }
}

template <typename Number>
void Restore(const HeadRows<std::byte>& to, const float* scales, const Number& number) {
  std::vector<float> values(to.size);
  for (uint32_t row = 0; row < to.tokens * to.heads; ++row) {
    const uint32_t token = row / to.heads;
    const uint32_t head = row % to.heads;
    const uint32_t base = head * SplitSize(to.size);
    for (uint32_t i = 0; i < to.size; ++i) {
      const uint32_t place = base + SplitPlace(i);
      const float part = number(token, base + i) * scales[place];
      values[i] = to.means[place] + part;
    }
    if (to.turns.cosines != nullptr) {
      ForEachPair(to.turns, token, values.data(), [](float& x, float& y, float cosine, float sine) {
        const float turned = x * cosine - y * sine;
        y = y * cosine + x * sine;
        x = turned;
      });
    }
    for (uint32_t i = 0; i < to.size; ++i) {
      const uint16_t bits = FromFloat(to.type, values[i]);
      std::memcpy(to.rows[token] + head * to.head_stride + i * kPageValueBytes, &bits,
                  sizeof(bits));
    }
  }
}

template <typename Number>
void ScalarRestoreNumbers(const HeadRows<std::byte>& to, const float* scales, const Number* numbers,
                          size_t stride) {
  Restore(to, scales, [&](uint32_t token, uint32_t i) {
    return static_cast<float>(numbers[token * stride + i]);
  });
}

void ScalarRestoreSums(const HeadRows<std::byte>& to, const float* scales, const uint32_t* sums,
                       size_t stride) {
  Restore(to, scales, [&](uint32_t token, uint32_t i) {
    return static_cast<float>(static_cast<int32_t>(sums[token * stride + SplitPlace(i)]));
  });
}

// Work on each value of a row less its mean, keys turned back.
template <typename Work>
void ForEachCentred(const HeadRows<const std::byte>& from, uint32_t token, Work work) {
  std::vector<float> values(from.size);
  for (uint32_t head = 0; head < from.heads; ++head) {
    const std::byte* const row = from.rows[token] + head * from.head_stride;
    for (uint32_t i = 0; i < from.size; ++i) {
      uint16_t bits = 0;
      std::memcpy(&bits, row + i * kPageValueBytes, sizeof(bits));
      values[i] = ToFloat(from.type, Bounded(from.type, bits));
    }
    if (from.turns.cosines != nullptr) {
      ForEachPair(from.turns, token, values.data(),
                  [](float& x, float& y, float cosine, float sine) {
                    const float turned = x * cosine + y * sine;
                    y = y * cosine - x * sine;
                    x = turned;
                  });
    }
    const uint32_t base = head * SplitSize(from.size);
    for (uint32_t i = 0; i < from.size; ++i) {
      work(base + i, values[i] - from.means[base + SplitPlace(i)]);
    }
  }
}

int16_t NumberOf(float component, const NumberRounding& by, uint32_t place) {
  const int32_t parts = RoundedWithin(component * by.parts[place], kPartsMax);
  const int32_t magnitude = parts < 0 ? -parts : parts;
  const int32_t number = magnitude < by.zero_below[place]
                             ? 0
                             : (magnitude + by.rounding[place]) / SymbolTable::kStepParts;
  return static_cast<int16_t>(parts < 0 ? -number : number);
}

void ScalarWholeValues(const HeadRows<const std::byte>& from, const float* scales, int16_t* whole,
                       size_t stride) {
  for (uint32_t token = 0; token < from.tokens; ++token) {
    ForEachCentred(from, token, [&](uint32_t i, float value) {
      whole[token * stride + i] = static_cast<int16_t>(
          RoundedWithin(value * scales[SplitPlace(i)], float{BandMatrix::kReach}));
    });
  }
}

void ScalarNumberValues(const HeadRows<const std::byte>& from, const NumberRounding& by,
                        int16_t* numbers, size_t stride) {
  for (uint32_t token = 0; token < from.tokens; ++token) {
    ForEachCentred(from, token, [&](uint32_t i, float value) {
      numbers[token * stride + i] = NumberOf(value, by, SplitPlace(i));
    });
  }
}

void ScalarNumberSums(const uint32_t* sums, size_t rows, size_t count, const NumberRounding& by,
                      int16_t* numbers) {
  for (size_t at = 0; at < rows * count; at += count) {
    for (uint32_t i = 0; i < count; ++i) {
      const uint32_t place = SplitPlace(i);
      numbers[at + i] =
          NumberOf(static_cast<float>(static_cast<int32_t>(sums[at + place])), by, place);
    }
  }
}

template <typename Number>
void ScalarGatherRows(const NumberRows<const Number>& rows, uint32_t count, uint32_t tokens,
                      Number* to, size_t stride) {
  for (uint32_t token = 0; token < tokens; ++token) {
    for (uint32_t i = 0; i < count; ++i) {
      to[token * stride + i] = rows[i][token];
    }
  }
}

template <typename Number>
void ScalarScatterRows(const Number* from, size_t stride, uint32_t count, uint32_t tokens,
                       const NumberRows<Number>& rows) {
  for (uint32_t token = 0; token < tokens; ++token) {
    for (uint32_t i = 0; i < count; ++i) {
      rows[i][token] = from[token * stride + i];
    }
  }
}

// A number out of its upper part and its lower bits.
int32_t WholeNumber(uint8_t upper, const RawPlanes& raw, const std::byte* planes, size_t at) {
  int32_t number = static_cast<int8_t>(upper) * (1 << raw.shift);
  for (uint32_t bit = 0; bit < raw.shift; ++bit) {
    const auto byte = static_cast<uint32_t>(planes[bit * raw.plane_bytes + at / 8]);
    number += static_cast<int32_t>((byte >> (at % 8) & 1U) << bit);
  }
  return number;
}

bool ScalarWidenUppers(std::span<const uint8_t> uppers, const RawPlanes& raw,
                       const std::byte* planes, size_t first, int16_t* numbers) {
  bool any_far = false;
  for (size_t i = 0; i < uppers.size(); ++i) {
    any_far = any_far || uppers[i] == SymbolTable::kFar;
    numbers[i] = static_cast<int16_t>(WholeNumber(uppers[i], raw, planes, first + i));
  }
  return any_far;
}

bool ScalarWidenBytes(std::span<const uint8_t> uppers, const RawPlanes& raw,
                      const std::byte* planes, size_t first, int8_t* numbers) {
  bool all_fit = true;
  for (size_t i = 0; i < uppers.size(); ++i) {
    const int32_t number = WholeNumber(uppers[i], raw, planes, first + i);
    numbers[i] = static_cast<int8_t>(number);
    all_fit = all_fit && number == numbers[i] && uppers[i] != SymbolTable::kFar;
  }
  return all_fit;
}

// Work on each value as it lies in pages.
template <typename Work>
void ForEachValue(const HeadRows<const std::byte>& from, uint32_t token, Work work) {
  for (uint32_t head = 0; head < from.heads; ++head) {
    const std::byte* const row = from.rows[token] + head * from.head_stride;
    for (uint32_t i = 0; i < from.size; ++i) {
      uint16_t bits = 0;
      std::memcpy(&bits, row + i * kPageValueBytes, sizeof(bits));
      work(head * SplitSize(from.size) + i, bits);
    }
  }
}

// All heads' pairs of groups are counted through.
bool IsAmong(const GroupPairs& pairs, uint32_t head, uint32_t value, uint32_t first,
             uint32_t count) {
  const uint32_t group = value / kSplitGroup * kSplitGroup;
  for (uint32_t i = 0; i < pairs.count(); ++i) {
    const uint32_t index = head * pairs.count() + i;
    if (index >= first && index - first < count &&
        (pairs[i].first == group || pairs[i].second == group)) {
      return true;
    }
  }
  return false;
}

bool ScalarNumberRows(const HeadRows<const std::byte>& from, const NumberRounding& by,
                      uint32_t first_pair, uint32_t pairs, const NumberRows<int8_t>& rows) {
  const GroupPairs all(from.turns, from.size);
  const uint32_t padded = SplitSize(from.size);
  bool all_fit = true;
  for (uint32_t token = 0; token < from.tokens; ++token) {
    ForEachValue(from, token, [&](uint32_t i, uint16_t bits) {
      all_fit = all_fit && (!IsAmong(all, i / padded, i % padded, first_pair, pairs) ||
                            Bounded(from.type, bits) == bits);
    });
    ForEachCentred(from, token, [&](uint32_t i, float value) {
      if (!IsAmong(all, i / padded, i % padded, first_pair, pairs)) {
        return;
      }
      const int32_t parts = RoundedWithin(value * by.parts[SplitPlace(i)], kPartsMax);
      all_fit = all_fit && std::abs(parts) < NumberRounding::kBytePartsEnd;
      rows[i][token] = static_cast<int8_t>(NumberOf(value, by, SplitPlace(i)));
    });
  }
  return all_fit;
}

template <typename Number>
void ScalarNarrowNumbers(std::span<const Number> numbers, const RansTable& table,
                         const RawPlanes& raw, size_t first, std::byte* planes, uint8_t* symbols) {
  for (size_t i = 0; i < numbers.size(); ++i) {
    const int32_t upper = numbers[i] >> raw.shift;
    const bool named = upper >= -SymbolTable::kNamedMax && upper <= SymbolTable::kNamedMax;
    symbols[i] = named ? table.symbol_of_value[static_cast<uint8_t>(upper)] : kOtherSymbol;
    const size_t at = first + i;
    for (uint32_t bit = 0; bit < raw.shift; ++bit) {
      std::byte& byte = planes[bit * raw.plane_bytes + at / 8];
      const auto own = static_cast<std::byte>((numbers[i] >> bit & 1) << (at % 8));
      byte = (at % 8 == 0 ? std::byte{0} : byte) | own;
    }
  }
}

}  // namespace

bool ScalarReadValues(RansReader& reader, const RansTable& table, std::span<uint8_t> values) {
  while (!values.empty()) {
    const size_t count = std::min(kRansStates, values.size());
    if (!reader.Step(table, values.first(count))) {
      return false;
    }
    values = values.subspan(count);
  }
  return true;
}

void ScalarWriteSymbols(RansWriter& writer, const RansTable& table,
                        std::span<const uint8_t> symbols) {
  const size_t steps = (symbols.size() + kRansStates - 1) / kRansStates;
  for (size_t step = steps; step-- > 0;) {
    const std::span<const uint8_t> rest = symbols.subspan(step * kRansStates);
    writer.Step(table, rest.first(std::min(kRansStates, rest.size())));
  }
}

void ScalarNameValues(const RansTable& table, std::span<const uint8_t> values, uint8_t* symbols) {
  std::ranges::transform(values, symbols,
                         [&](uint8_t value) { return table.symbol_of_value[value]; });
}

void ScalarSplitBf16(const std::byte* from, uint32_t count, uint8_t* exponents, std::byte* low) {
  for (uint32_t i = 0; i < count; ++i) {
    uint16_t bits = 0;
    std::memcpy(&bits, from + i * kPageValueBytes, sizeof(bits));
    exponents[i] = static_cast<uint8_t>(bits >> 7);
    low[i] = static_cast<std::byte>((bits >> 8 & 128U) | (bits & 127U));
  }
}

constexpr BandKernels kScalarBands = {
    ScalarRestoreNumbers<int16_t>,
    ScalarRestoreSums,
    ScalarWholeValues,
    ScalarNumberValues,
    ScalarNumberSums,
    ScalarGatherRows<int16_t>,
    ScalarScatterRows<int16_t>,
    ScalarWidenUppers,
    ScalarNarrowNumbers<int16_t>,
};

constexpr ByteKernels kScalarBytes = {
    ScalarRestoreNumbers<int8_t>, ScalarNumberRows, ScalarGatherRows<int8_t>, ScalarWidenBytes,
    ScalarNarrowNumbers<int8_t>,
};

}  // namespace kvcast
