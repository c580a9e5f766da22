#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "kvcast/codec/track_format.h"

namespace kvcast {

// Entropy coding of small alphabets with 128 interleaved rANS states, which vectors can step at
// once without gathering anything from memory; two times 64, since one waits for itself half of the
// time.
//
// A state is 24 bits, at least 2^16 between symbols, and exchanges a byte at a time with the
// stream; shares are of 256, so that one exchange per symbol is always enough. Symbols are coded in
// units, a unit in steps of 128, of which only the last may be short. In a step, symbol p belongs
// to state p; first all take their symbol off, then those below 2^16 read a byte each, in order.
// Then a state's upper 16 bits and its lowest 8 are never wanted together but to be multiplied,
// divided and shifted by whole bytes: lanes of 16 bits are wide enough.
inline constexpr size_t kRansStates = 128;
inline constexpr size_t kRansLanes = 64;  // States of one set of vectors.
inline constexpr uint32_t kRansLow = 1U << 16;
inline constexpr size_t kRansStateBytes = 3;
inline constexpr size_t kRansStatesBytes = kRansStates * kRansStateBytes;

// A table of exponents, or of other bytes, as coders use it.
struct RansTable {
  explicit RansTable(const ExponentTable& table);
  // A symbol whose share is 0 is never coded: its value is one of the others. REQUIRES: values that
  // are all different, shares of kTotal in all, the last not 0.
  RansTable(const std::array<uint8_t, ExponentTable::kNamed>& values,
            const std::array<uint8_t, ExponentTable::kSymbols>& shares);

  using OfSymbol = std::array<uint8_t, ExponentTable::kSymbols>;
  alignas(64) std::array<uint8_t, ExponentTable::kTotal> symbol_of_slot{};
  alignas(64) std::array<uint8_t, 256> symbol_of_value{};
  alignas(16) OfSymbol shares{};
  alignas(16) OfSymbol starts{};
  alignas(16) OfSymbol values{};  // 0 for all others.
  // How lanes of 16 bits divide by a share: n / share, for n below 256 times the share, is
  // ((n + added) * lift * factor >> 16) >> 7.
  alignas(16) OfSymbol added{};
  alignas(16) OfSymbol lift{};
  alignas(16) OfSymbol factor_low{};
  alignas(16) OfSymbol factor_high{};

 private:
  void SetFactor(size_t symbol, uint32_t share);
};

inline constexpr uint8_t kOtherSymbol = ExponentTable::kNamed;

// The states as lanes want them: of each 64 the upper 16 bits of those with even numbers, then of
// the odd; and the lower 8 of all.
struct RansStates {
  alignas(64) std::array<uint16_t, kRansStates> upper{};
  alignas(64) std::array<uint8_t, kRansStates> low{};

  static size_t PlaceOf(size_t state) {
    const size_t lane = state % kRansLanes;
    return state - lane + lane % 2 * (kRansLanes / 2) + lane / 2;
  }
  uint32_t At(size_t state) const { return uint32_t{upper[PlaceOf(state)]} << 8 | low[state]; }
  void Set(size_t state, uint32_t value) {
    upper[PlaceOf(state)] = static_cast<uint16_t>(value >> 8);
    low[state] = static_cast<uint8_t>(value);
  }
};

// Reads units in order. Every kernel leaves it in the same state.
struct RansReader {
  RansStates states;
  std::span<const std::byte> bytes;   // What is left of the stream.
  std::span<const std::byte> others;  // Values that their table does not name.

  // The states as they stand in a body; false if one of them is out of its range.
  bool TakeStates(std::span<const std::byte> from);
  // Whether everything has been read and the states are what they were when it was written.
  bool IsAtEnd() const;
  // One step, checked at every byte; false if the stream is too short.
  bool Step(const RansTable& table, std::span<uint8_t> values);
  // The next of the others for each place whose bit is set; false if there are too few.
  bool TakeOthers(uint64_t places, uint8_t* values);
};

// Writes units in the reverse of the order they are read in, from the end of its room downwards.
struct RansWriter {
  // What a kernel may write in front of what it has written.
  static constexpr size_t kSlack = 64;

  RansStates states;
  std::byte* begin = nullptr;  // Of the stream so far.
  std::byte* end = nullptr;

  // REQUIRES: kSlack bytes, and one for each symbol.
  explicit RansWriter(std::span<std::byte> room);
  // One step.
  void Step(const RansTable& table, std::span<const uint8_t> symbols);
  // States and stream as they stand in a body; where they end.
  std::byte* PutInto(std::byte* to) const;
};

}  // namespace kvcast
