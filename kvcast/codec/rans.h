#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "kvcast/codec/track_format.h"

namespace kvcast {

// Entropy coding of small alphabets with 64 interleaved rANS states, which vectors can step at once
// without gathering anything from memory.
//
// A state is 32 bits, at least 2^16 between symbols, and exchanges 16 bits at a time with the
// stream; shares are of 256, so that one exchange per symbol is always enough. Symbols are coded in
// units, a unit in steps of 64, of which only the last may be short. In a step, symbol p belongs to
// state (p mod 4) * 16 + p / 4; first all take their symbol off, then those below 2^16 read a word
// each, in the order of states. So four registers of 16 states yield their 64 symbols in order of
// bytes.
inline constexpr size_t kRansStates = 64;
inline constexpr uint32_t kRansLow = 1U << 16;

inline constexpr size_t RansStateOf(size_t position) { return position % 4 * 16 + position / 4; }

// A table of exponents, or of other bytes, as coders use it.
struct RansTable {
  explicit RansTable(const ExponentTable& table);
  // A symbol whose share is 0 is never coded: its value is one of the others. REQUIRES: values that
  // are all different, shares of kTotal in all, the last not 0.
  RansTable(const std::array<uint8_t, ExponentTable::kNamed>& values,
            const std::array<uint8_t, ExponentTable::kSymbols>& shares);

  alignas(64) std::array<uint8_t, ExponentTable::kTotal> symbol_of_slot{};
  alignas(64) std::array<uint32_t, ExponentTable::kSymbols> entries{};   // Share, start << 16.
  alignas(16) std::array<uint8_t, ExponentTable::kSymbols> exponents{};  // 0 for all others.
  std::array<uint8_t, 256> symbol_of_exponent{};

  uint32_t Share(size_t symbol) const { return entries[symbol] & 0xffff; }
  uint32_t Start(size_t symbol) const { return entries[symbol] >> 16; }
};

inline constexpr uint8_t kOtherSymbol = ExponentTable::kNamed;

// Reads units in order. Every kernel leaves it in the same state.
struct RansReader {
  alignas(64) std::array<uint32_t, kRansStates> states{};
  std::span<const std::byte> words;   // What is left of the stream.
  std::span<const std::byte> others;  // Exponents that their table does not name.

  // Whether everything has been read and the states are what they were when it was written.
  bool IsAtEnd() const;
  // One step of at most 64 symbols, checked at every word; false if the stream is too short.
  bool Step(const RansTable& table, std::span<uint8_t> exponents);
};

// Writes units in the reverse of the order they are read in.
class RansWriter {
 public:
  RansWriter();
  void WriteUnit(const RansTable& table, std::span<const uint8_t> exponents);
  // The stream's words so far, last first.
  const std::vector<uint16_t>& words() const { return words_; }
  const std::array<uint32_t, kRansStates>& states() const { return states_; }

 private:
  std::array<uint32_t, kRansStates> states_{};
  std::vector<uint16_t> words_;
};

}  // namespace kvcast
