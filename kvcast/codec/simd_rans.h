// The entropy coder over any set of vectors `V` that holds 64 lanes: `Bytes` one of each, `Words`
// 16 bits of each second one. Included inside a target region by the one source of each instruction
// set, which defines V.
#pragma once

#include <cstring>

#include "kvcast/codec/rans.h"
#include "kvcast/codec/simd_target.h"

namespace kvcast {
namespace {

inline constexpr uint64_t kAllLanes = ~uint64_t{0};

template <typename V>
struct RansLanes {
  typename V::Bytes upper;
  typename V::Bytes low;

  RansLanes(const RansStates& states, size_t first)
      : upper(V::LoadBytes(states.upper.data() + first)),
        low(V::LoadBytes(states.low.data() + first)) {}
  void StoreTo(RansStates& states, size_t first) const {
    V::StoreBytes(states.upper.data() + first, upper);
    V::StoreBytes(states.low.data() + first, low);
  }
  // What all lanes have become, or only some may.
  void Become(const RansLanes& next, uint64_t lanes) {
    upper = lanes == kAllLanes ? next.upper : V::Kept(upper, next.upper, lanes);
    low = lanes == kAllLanes ? next.low : V::Kept(low, next.low, lanes);
  }
};

// What stays of a table in registers.
template <typename V>
struct RansLookups {
  typename V::Lookup shares;
  typename V::Lookup starts;
  explicit RansLookups(const RansTable& table)
      : shares(V::LookupOf(table.shares.data())), starts(V::LookupOf(table.starts.data())) {}
};

// 64 states take a symbol off; gives the symbols. REQUIRES: 64 bytes at `from`. Only `lanes` count.
template <typename V>
inline typename V::Bytes ReadStep(RansLanes<V>& x, const typename V::Slots& slots,
                                  const RansLookups<V>& by, uint64_t lanes,
                                  const std::byte*& from) {
  const typename V::Bytes symbols = slots.Symbols(x.low);
  const typename V::Bytes shares = V::LookUp(by.shares, symbols);
  const typename V::Bytes in_share = V::MinusBytes(x.low, V::LookUp(by.starts, symbols));
  const typename V::Words even =
      V::PlusWords(V::TimesLow(V::Even(shares), V::Even(x.upper)), V::Even(in_share));
  const typename V::Words odd =
      V::PlusWords(V::TimesHigh(V::OddAbove(shares), V::OddAbove(x.upper)), V::Odd(in_share));
  RansLanes<V> next = x;
  next.upper = V::JoinAbove(even, odd);
  next.low = V::JoinBelow(even, odd);
  V::Refill(next.upper, next.low, lanes, from);
  x.Become(next, lanes);
  return symbols;
}

// 64 symbols, of which only some count, to where their values go. REQUIRES: as ReadStep.
template <typename V>
struct RansUnitReader {
  typename V::Slots slots;
  RansLookups<V> by;
  typename V::Lookup named;

  explicit RansUnitReader(const RansTable& table)
      : slots(table), by(table), named(V::LookupOf(table.values.data())) {}
  inline bool All(RansLanes<V>& lanes, RansReader& reader, const std::byte*& from,
                  uint8_t* out) const {
    const typename V::Bytes symbols = ReadStep<V>(lanes, slots, by, kAllLanes, from);
    V::StoreBytes(out, V::LookUp(named, symbols));
    const uint64_t others = V::Equal(symbols, kOtherSymbol);
    return others == 0 || reader.TakeOthers(others, out);
  }
  bool Some(RansLanes<V>& lanes, RansReader& reader, const std::byte*& from, uint8_t* out,
            size_t count) const {
    if (count >= kRansLanes) {
      return All(lanes, reader, from, out);
    }
    alignas(64) uint8_t last[kRansLanes];
    const uint64_t some = (uint64_t{1} << count) - 1;
    const typename V::Bytes symbols = ReadStep<V>(lanes, slots, by, some, from);
    V::StoreBytes(last, V::LookUp(named, symbols));
    const bool whole = reader.TakeOthers(V::Equal(symbols, kOtherSymbol) & some, last);
    std::memcpy(out, last, count);
    return whole;
  }
};

template <typename V>
bool SimdReadValues(RansReader& reader, const RansTable& table, std::span<uint8_t> values) {
  const RansUnitReader<V> unit(table);
  RansLanes<V> first(reader.states, 0);
  RansLanes<V> second(reader.states, kRansLanes);
  uint8_t* out = values.data();
  size_t left = values.size();
  const std::byte* from = reader.bytes.data();
  const std::byte* const end = from + reader.bytes.size();
  bool whole = true;
  // As long as no step can read past the end, whatever it reads.
  const auto kMost = static_cast<std::ptrdiff_t>(kRansStates);
  while (left >= kRansStates && end - from >= kMost && whole) {
    whole = unit.All(first, reader, from, out);
    whole = whole && unit.All(second, reader, from, out + kRansLanes);
    out += kRansStates;
    left -= kRansStates;
  }
  if (left > 0 && left < kRansStates && whole && end - from >= kMost) {
    whole = unit.Some(first, reader, from, out, left);
    if (left > kRansLanes) {
      whole = whole && unit.Some(second, reader, from, out + kRansLanes, left - kRansLanes);
    }
    left = 0;
  }
  first.StoreTo(reader.states, 0);
  second.StoreTo(reader.states, kRansLanes);
  reader.bytes = {from, end};
  return whole && kScalarKernels.coder->read_values(reader, table, {out, left});
}

// The same tables for the other direction.
template <typename V>
struct RansDivisors {
  typename V::Lookup factor_low;
  typename V::Lookup factor_high;
  explicit RansDivisors(const RansTable& table)
      : factor_low(V::LookupOf(table.factor_low.data())),
        factor_high(V::LookupOf(table.factor_high.data())) {}
};

// Divides each n by its share, and leaves the rest.
template <typename V>
inline typename V::Words Quotient(typename V::Words& n, const typename V::Words& factor,
                                  const typename V::Words& share) {
  typename V::Words quotient = V::TimesHigh(n, factor);
  n = V::MinusWords(n, V::TimesLow(quotient, share));
  V::TakeOneMore(quotient, n, share);
  return quotient;
}

template <typename V>
inline void WriteStep(RansLanes<V>& x, const RansLookups<V>& by, const RansDivisors<V>& divisors,
                      const typename V::Bytes& symbols, uint64_t lanes, std::byte*& begin) {
  const typename V::Bytes shares = V::LookUp(by.shares, symbols);
  RansLanes<V> next = x;
  V::Spill(next.upper, next.low, shares, lanes, begin);
  const typename V::Bytes low = V::LookUp(divisors.factor_low, symbols);
  const typename V::Bytes high = V::LookUp(divisors.factor_high, symbols);
  typename V::Words even = V::EvenWords(next.upper, next.low);
  typename V::Words odd = V::OddWords(next.upper, next.low);
  const typename V::Words even_over = Quotient<V>(even, V::EvenWords(high, low), V::Even(shares));
  const typename V::Words odd_over = Quotient<V>(odd, V::OddWords(high, low), V::Odd(shares));
  next.upper = V::JoinBelow(even_over, odd_over);
  next.low = V::PlusBytes(V::JoinBelow(even, odd), V::LookUp(by.starts, symbols));
  x.Become(next, lanes);
}

template <typename V>
struct RansUnitWriter {
  RansLookups<V> by;
  RansDivisors<V> divisors;

  explicit RansUnitWriter(const RansTable& table) : by(table), divisors(table) {}
  inline void All(RansLanes<V>& lanes, const uint8_t* symbols, std::byte*& begin) const {
    WriteStep<V>(lanes, by, divisors, V::LoadBytes(symbols), kAllLanes, begin);
  }
  void Some(RansLanes<V>& lanes, const uint8_t* symbols, size_t count, std::byte*& begin) const {
    if (count >= kRansLanes) {
      All(lanes, symbols, begin);
      return;
    }
    alignas(64) uint8_t last[kRansLanes];
    std::memset(last, kOtherSymbol, sizeof(last));  // One that has a share.
    std::memcpy(last, symbols, count);
    WriteStep<V>(lanes, by, divisors, V::LoadBytes(last), (uint64_t{1} << count) - 1, begin);
  }
};

template <typename V>
void SimdWriteSymbols(RansWriter& writer, const RansTable& table,
                      std::span<const uint8_t> symbols) {
  const RansUnitWriter<V> unit(table);
  RansLanes<V> first(writer.states, 0);
  RansLanes<V> second(writer.states, kRansLanes);
  std::byte* begin = writer.begin;
  const size_t rest = symbols.size() % kRansStates;
  const uint8_t* at = symbols.data() + (symbols.size() - rest);
  if (rest > kRansLanes) {
    unit.Some(second, at + kRansLanes, rest - kRansLanes, begin);
  }
  if (rest > 0) {
    unit.Some(first, at, rest, begin);
  }
  while (at != symbols.data()) {
    at -= kRansStates;
    unit.All(second, at + kRansLanes, begin);
    unit.All(first, at, begin);
  }
  writer.begin = begin;
  first.StoreTo(writer.states, 0);
  second.StoreTo(writer.states, kRansLanes);
}

}  // namespace
}  // namespace kvcast
