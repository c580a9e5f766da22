// The entropy coder over any set of vectors `V` that holds 64 lanes: `Bytes` one of each, `Words`
// 16 bits of each second one. Included inside a target region by the one source of each instruction
// set, which defines V.
#pragma once

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

  explicit RansLanes(const RansStates& states)
      : even(V::LoadWords(states.upper.data())),
        odd(V::LoadWords(states.upper.data() + kRansStates / 2)),
        low(V::LoadBytes(states.low.data())) {}
  void StoreTo(RansStates& states) const {
    V::StoreWords(states.upper.data(), even);
    V::StoreWords(states.upper.data() + kRansStates / 2, odd);
    V::StoreBytes(states.low.data(), low);
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

template <typename V>
bool SimdReadValues(RansReader& reader, const RansTable& table, std::span<uint8_t> values) {
  const typename V::Slots slots(table);
  const RansLookups<V> by(table);
  const typename V::Lookup named = V::LookupOf(table.values.data());
  RansLanes<V> lanes(reader.states);
  uint8_t* out = values.data();
  size_t left = values.size();
  const std::byte* from = reader.bytes.data();
  const std::byte* const end = from + reader.bytes.size();
  bool whole = true;
  // As long as no step can read past the end, whatever it reads.
  while (left >= kRansStates && end - from >= static_cast<std::ptrdiff_t>(kRansStates) && whole) {
    const typename V::Bytes symbols = ReadStep<V>(lanes, slots, by, kAllLanes, from);
    V::StoreBytes(out, V::LookUp(named, symbols));
    const uint64_t others = V::Equal(symbols, kOtherSymbol);
    if (others != 0) [[unlikely]] {
      whole = reader.TakeOthers(others, out);
    }
    out += kRansStates;
    left -= kRansStates;
  }
  if (left > 0 && left < kRansStates && whole &&
      end - from >= static_cast<std::ptrdiff_t>(kRansStates)) {
    alignas(64) uint8_t last[kRansStates];
    const uint64_t some = (uint64_t{1} << left) - 1;
    const typename V::Bytes symbols = ReadStep<V>(lanes, slots, by, some, from);
    V::StoreBytes(last, V::LookUp(named, symbols));
    whole = reader.TakeOthers(V::Equal(symbols, kOtherSymbol) & some, last);
    std::memcpy(out, last, left);
    left = 0;
  }
  lanes.StoreTo(reader.states);
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
void SimdWriteSymbols(RansWriter& writer, const RansTable& table,
                      std::span<const uint8_t> symbols) {
  const RansLookups<V> by(table);
  const RansDivisors<V> divisors(table);
  RansLanes<V> lanes(writer.states);
  const size_t rest = symbols.size() % kRansStates;
  size_t at = symbols.size() - rest;
  if (rest > 0) {
    alignas(64) uint8_t last[kRansStates];
    std::memset(last, kOtherSymbol, sizeof(last));  // One that has a share.
    std::memcpy(last, symbols.data() + at, rest);
    WriteStep<V>(lanes, by, divisors, V::LoadBytes(last), (uint64_t{1} << rest) - 1, writer.begin);
  }
  while (at > 0) {
    at -= kRansStates;
    WriteStep<V>(lanes, by, divisors, V::LoadBytes(symbols.data() + at), kAllLanes, writer.begin);
  }
  lanes.StoreTo(writer.states);
}

}  // namespace
}  // namespace kvcast
