#include "kvcast/codec/rans.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "kvcast/base/check.h"

namespace kvcast {
namespace {

constexpr uint32_t kSlotBits = 8;

}  // namespace

RansTable::RansTable(const ExponentTable& table) : RansTable(table.exponents, table.shares) {
  KVCAST_CHECK(table.IsSound());
}

RansTable::RansTable(const std::array<uint8_t, ExponentTable::kNamed>& named,
                     const std::array<uint8_t, ExponentTable::kSymbols>& their_shares)
    : shares(their_shares) {
  symbol_of_value.fill(kOtherSymbol);
  uint32_t start = 0;
  for (size_t symbol = 0; symbol < ExponentTable::kSymbols; ++symbol) {
    const uint32_t share = shares[symbol];
    KVCAST_CHECK(start + share <= ExponentTable::kTotal);
    starts[symbol] = static_cast<uint8_t>(start);  // 256 only where the share is 0.
    std::fill_n(symbol_of_slot.begin() + start, share, static_cast<uint8_t>(symbol));
    start += share;
    if (share > 0) {
      const uint32_t factor = std::min((1U << 16) / share, 0xffffU);
      factor_low[symbol] = static_cast<uint8_t>(factor);
      factor_high[symbol] = static_cast<uint8_t>(factor >> 8);
    }
    if (symbol < ExponentTable::kNamed && share > 0) {
      values[symbol] = named[symbol];
      symbol_of_value[named[symbol]] = static_cast<uint8_t>(symbol);
    }
  }
  KVCAST_CHECK(start == ExponentTable::kTotal && shares[kOtherSymbol] > 0);
}

bool RansReader::TakeStates(std::span<const std::byte> from) {
  for (size_t i = 0; i < kRansStates; ++i) {
    const std::byte* const own = from.data() + i * kRansStateBytes;
    states.Set(i, static_cast<uint32_t>(own[0]) | static_cast<uint32_t>(own[1]) << 8);
    if (states.At(i) < kRansLow) {
      return false;
    }
  }
  return true;
}

bool RansReader::IsAtEnd() const {
  bool all_low = true;
  for (size_t i = 0; i < kRansStates; ++i) {
    all_low = all_low && states.At(i) == kRansLow;
  }
  return bytes.empty() && others.empty() && all_low;
}

bool RansReader::Step(const RansTable& table, std::span<uint8_t> values) {
  for (size_t i = 0; i < values.size(); ++i) {
    const uint32_t state = states.At(i);
    const uint32_t slot = state & 0xff;
    const uint8_t symbol = table.symbol_of_slot[slot];
    states.Set(i, table.shares[symbol] * (state >> kSlotBits) + slot - table.starts[symbol]);
    values[i] = table.values[symbol];
    if (symbol == kOtherSymbol && !TakeOthers(1, &values[i])) {
      return false;
    }
  }
  for (size_t i = 0; i < values.size(); ++i) {
    const uint32_t state = states.At(i);
    if (state < kRansLow) {
      if (bytes.empty()) {
        return false;
      }
      states.Set(i, state << 8 | static_cast<uint32_t>(bytes[0]));
      bytes = bytes.subspan(1);
    }
  }
  return true;
}

bool RansReader::TakeOthers(uint64_t places, uint8_t* values) {
  for (; places != 0; places &= places - 1) {
    if (others.empty()) {
      return false;
    }
    values[std::countr_zero(places)] = static_cast<uint8_t>(others[0]);
    others = others.subspan(1);
  }
  return true;
}

RansWriter::RansWriter(std::span<std::byte> room)
    : begin(room.data() + room.size()), end(room.data() + room.size()) {
  for (size_t i = 0; i < kRansStates; ++i) {
    states.Set(i, kRansLow);
  }
}

void RansWriter::Step(const RansTable& table, std::span<const uint8_t> symbols) {
  for (size_t i = symbols.size(); i-- > 0;) {
    const uint8_t symbol = symbols[i];
    const uint32_t share = table.shares[symbol];
    uint32_t state = states.At(i);
    if (state >= share * kRansLow) {
      *--begin = static_cast<std::byte>(state);
      state >>= 8;
    }
    states.Set(i, (state / share << kSlotBits) + state % share + table.starts[symbol]);
  }
}

std::byte* RansWriter::PutInto(std::byte* to) const {
  for (size_t i = 0; i < kRansStates; ++i) {
    *to++ = static_cast<std::byte>(states.low[i]);
    *to++ = static_cast<std::byte>(states.upper[i]);
  }
  const auto size = static_cast<size_t>(end - begin);
  if (size > 0) {
    std::memcpy(to, begin, size);
  }
  return to + size;
}

}  // namespace kvcast
