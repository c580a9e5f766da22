#include "kvcast/codec/rans.h"

#include <algorithm>

#include "kvcast/base/check.h"

namespace kvcast {
namespace {

constexpr uint32_t kSlotBits = 8;
constexpr size_t kWordBytes = sizeof(uint16_t);

}  // namespace

RansTable::RansTable(const ExponentTable& table) : RansTable(table.exponents, table.shares) {
  KVCAST_CHECK(table.IsSound());
}

RansTable::RansTable(const std::array<uint8_t, ExponentTable::kNamed>& values,
                     const std::array<uint8_t, ExponentTable::kSymbols>& shares) {
  symbol_of_exponent.fill(kOtherSymbol);
  uint32_t start = 0;
  for (size_t symbol = 0; symbol < ExponentTable::kSymbols; ++symbol) {
    const uint32_t share = shares[symbol];
    KVCAST_CHECK(start + share <= ExponentTable::kTotal);
    entries[symbol] = share | start << 16;
    std::fill_n(symbol_of_slot.begin() + start, share, static_cast<uint8_t>(symbol));
    start += share;
    if (symbol < ExponentTable::kNamed && share > 0) {
      exponents[symbol] = values[symbol];
      symbol_of_exponent[values[symbol]] = static_cast<uint8_t>(symbol);
    }
  }
  KVCAST_CHECK(start == ExponentTable::kTotal && shares[kOtherSymbol] > 0);
}

bool RansReader::IsAtEnd() const {
  return words.empty() && others.empty() &&
         std::ranges::all_of(states, [](uint32_t state) { return state == kRansLow; });
}

bool RansReader::Step(const RansTable& table, std::span<uint8_t> exponents) {
  for (size_t position = 0; position < exponents.size(); ++position) {
    uint32_t& state = states[RansStateOf(position)];
    const uint32_t slot = state & 0xff;
    const uint8_t symbol = table.symbol_of_slot[slot];
    state = table.Share(symbol) * (state >> kSlotBits) + slot - table.Start(symbol);
    exponents[position] = table.exponents[symbol];
    if (symbol == kOtherSymbol) {
      if (others.empty()) {
        return false;
      }
      exponents[position] = static_cast<uint8_t>(others[0]);
      others = others.subspan(1);
    }
  }
  for (uint32_t& state : states) {  // Those that took nothing off are not below.
    if (state < kRansLow) {
      if (words.size() < kWordBytes) {
        return false;
      }
      state = state << 16 | static_cast<uint32_t>(words[1]) << 8 | static_cast<uint32_t>(words[0]);
      words = words.subspan(kWordBytes);
    }
  }
  return true;
}

RansWriter::RansWriter() { states_.fill(kRansLow); }

void RansWriter::WriteUnit(const RansTable& table, std::span<const uint8_t> exponents) {
  const size_t steps = (exponents.size() + kRansStates - 1) / kRansStates;
  for (size_t step = steps; step-- > 0;) {
    const std::span<const uint8_t> part = exponents.subspan(step * kRansStates);
    for (size_t index = kRansStates; index-- > 0;) {
      const size_t position = index % 16 * 4 + index / 16;  // Of which state `index` is.
      if (position >= part.size()) {
        continue;
      }
      const uint8_t symbol = table.symbol_of_exponent[part[position]];
      const uint32_t share = table.Share(symbol);
      uint32_t& state = states_[index];
      if (state >= share << 24) {
        words_.push_back(static_cast<uint16_t>(state));
        state >>= 16;
      }
      state = (state / share << kSlotBits) + state % share + table.Start(symbol);
    }
  }
}

}  // namespace kvcast
