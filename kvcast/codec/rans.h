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
// A state is 16 bits, at least 2^8 between symbols, and exchanges a byte at a time with the
// stream; shares are of 256, so that one exchange per symbol is always enough. Symbols are coded in
// units, a unit in steps of 128, of which only the last may be short. In a step, symbol p belongs
// to state p; first all take their symbol off, then those below 2^8 read a byte each, in order.
// A state's upper byte is what is multiplied, and its lower what symbols are looked up by: lanes of
// a byte for either. Larger states would save half a hundredth of a bit per symbol and take half as
// long again.
inline constexpr size_t kRansStates = 128;
inline constexpr size_t kRansLanes = 64;  // States of one set of vectors.
inline constexpr uint32_t kRansLow = 1U << 8;
inline constexpr size_t kRansStateBytes = 2;
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
  // n * factor >> 16, or one more.
  alignas(16) OfSymbol factor_low{};
  alignas(16) OfSymbol factor_high{};
};

inline constexpr uint8_t kOtherSymbol = ExponentTable::kNamed;

// The states as lanes want them.
struct RansStates {
  alignas(64) std::array<uint8_t, kRansStates> upper{};
  alignas(64) std::array<uint8_t, kRansStates> low{};

  uint32_t At(size_t state) const { return uint32_t{upper[state]} << 8 | low[state]; }
  void Set(size_t state, uint32_t value) {
    upper[state] = static_cast<uint8_t>(value >> 8);
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
