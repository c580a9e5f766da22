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
  typename V::Words even;  // The upper 16 bits of states.
  typename V::Words odd;
  typename V::Bytes low;

  RansLanes(const RansStates& states, size_t first)
      : even(V::LoadWords(states.upper.data() + first)),
        odd(V::LoadWords(states.upper.data() + first + kRansLanes / 2)),
        low(V::LoadBytes(states.low.data() + first)) {}
  void StoreTo(RansStates& states, size_t first) const {
    V::StoreWords(states.upper.data() + first, even);
    V::StoreWords(states.upper.data() + first + kRansLanes / 2, odd);
    V::StoreBytes(states.low.data() + first, low);
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
  const typename V::Words even_shares = V::EvenAbove(shares);
  const typename V::Words odd_shares = V::OddAbove(shares);
  // Share times upper: its lowest byte, which what is in the share is added to, and the rest.
  const typename V::Bytes part =
      V::JoinAbove(V::TimesLow(even_shares, x.even), V::TimesLow(odd_shares, x.odd));
  const typename V::Bytes low = V::PlusBytes(part, in_share);
  const typename V::Bytes carries = V::Carries(low, in_share);
  RansLanes<V> next = x;
  next.even = V::PlusWords(V::TimesHigh(even_shares, x.even), V::Even(carries));
  next.odd = V::PlusWords(V::TimesHigh(odd_shares, x.odd), V::Odd(carries));
  next.low = low;
  V::Refill(next.even, next.odd, next.low, lanes, from);
  if (lanes == kAllLanes) {
    x = next;
  } else {
    V::Keep(x.even, x.odd, x.low, next.even, next.odd, next.low, lanes);
  }
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
  typename V::Lookup added;
  typename V::Lookup lift;
  typename V::Lookup factor_low;
  typename V::Lookup factor_high;
  explicit RansDivisors(const RansTable& table)
      : added(V::LookupOf(table.added.data())),
        lift(V::LookupOf(table.lift.data())),
        factor_low(V::LookupOf(table.factor_low.data())),
        factor_high(V::LookupOf(table.factor_high.data())) {}
};

// What each second lane divides by.
template <typename V>
struct RansDivisor {
  typename V::Words share;
  typename V::Words added;
  typename V::Words lift;
  typename V::Words factor;

  // Divides n by its share, and leaves the rest.
  typename V::Words Over(typename V::Words& n) const {
    const typename V::Words lifted = V::TimesLow(V::PlusWords(n, added), lift);
    const typename V::Words quotient = V::Shifted7(V::TimesHigh(lifted, factor));
    n = V::MinusWords(n, V::TimesLow(quotient, share));
    return quotient;
  }
  // One state's step but for its start: upper becomes the quotient, low the rest.
  void Step(typename V::Words& upper, typename V::Words& low) const {
    const typename V::Words above = Over(upper);
    low = V::OrWords(V::Raised8(upper), low);
    upper = V::OrWords(V::Raised8(above), Over(low));
  }
};

template <typename V>
inline void WriteStep(RansLanes<V>& x, const RansLookups<V>& by, const RansDivisors<V>& divisors,
                      const typename V::Bytes& symbols, uint64_t lanes, std::byte*& begin) {
  const typename V::Bytes shares = V::LookUp(by.shares, symbols);
  RansLanes<V> next = x;
  V::Spill(next.even, next.odd, next.low, shares, lanes, begin);
  const typename V::Bytes added = V::LookUp(divisors.added, symbols);
  const typename V::Bytes lift = V::LookUp(divisors.lift, symbols);
  const typename V::Bytes low = V::LookUp(divisors.factor_low, symbols);
  const typename V::Bytes high = V::LookUp(divisors.factor_high, symbols);
  const RansDivisor<V> even = {V::Even(shares), V::Even(added), V::Even(lift),
                               V::OrWords(V::Even(low), V::EvenAbove(high))};
  const RansDivisor<V> odd = {V::Odd(shares), V::Odd(added), V::Odd(lift),
                              V::OrWords(V::Odd(low), V::OddAbove(high))};
  typename V::Words even_low = V::Even(next.low);
  typename V::Words odd_low = V::Odd(next.low);
  even.Step(next.even, even_low);
  odd.Step(next.odd, odd_low);
  next.low = V::PlusBytes(V::JoinBelow(even_low, odd_low), V::LookUp(by.starts, symbols));
  if (lanes == kAllLanes) {
    x = next;
  } else {
    V::Keep(x.even, x.odd, x.low, next.even, next.odd, next.low, lanes);
  }
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
