#include "kvcast/codec/symbol_table.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace kvcast {
namespace {

constexpr size_t kOther = SymbolTable::kSymbols - 1;
constexpr double kOtherBits = 8;  // Written out.

using SymbolSums = std::array<uint64_t, SymbolTable::kSymbols>;

// One to each that was seen and to "other", then one after another to whom it saves most: about
// count / (share + 1/2) bits.
std::array<uint8_t, SymbolTable::kSymbols> SharesOf(const SymbolSums& seen) {
  std::array<uint8_t, SymbolTable::kSymbols> shares{};
  std::ranges::transform(seen, shares.begin(),
                         [](uint64_t count) { return static_cast<uint8_t>(count > 0 ? 1 : 0); });
  shares[kOther] = 1;
  shares[SymbolTable::kNamedMax] = std::max<uint8_t>(shares[SymbolTable::kNamedMax], 1);  // 0.
  uint32_t left = SymbolTable::kTotal - std::accumulate(shares.begin(), shares.end(), uint32_t{0});
  for (; left > 0; --left) {
    size_t best = kOther;
    for (size_t i = 0; i < seen.size(); ++i) {
      // No symbol has all 256, since "other" has one.
      if (seen[i] * (2U * shares[best] + 1) > seen[best] * (2U * shares[i] + 1)) {
        best = i;
      }
    }
    ++shares[best];
  }
  return shares;
}

}  // namespace

bool SymbolTable::IsSound() const {
  const uint32_t total = std::accumulate(shares.begin(), shares.end(), uint32_t{0});
  return total == kTotal && shares[kOther] > 0 && shift <= kShiftMax;
}

RansTable SymbolTable::ForCoding() const {
  std::array<uint8_t, ExponentTable::kNamed> values{};
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<uint8_t>(static_cast<int32_t>(i) - kNamedMax);
  }
  return {values, shares};
}

void NumberCounts::Add(int32_t number) {
  const int32_t place = std::clamp(number, -kNumberMax, kNumberMax) + kNumberMax;
  ++counts_[static_cast<size_t>(place)];
  ++total_;
}

SymbolSums NumberCounts::SymbolCounts(uint8_t shift) const {
  SymbolSums sums{};
  for (int32_t number = -kNumberMax; number <= kNumberMax; ++number) {
    const int32_t upper = number >> shift;
    const bool named = upper >= -SymbolTable::kNamedMax && upper <= SymbolTable::kNamedMax;
    const int32_t symbol = upper + SymbolTable::kNamedMax;
    const int32_t place = number + kNumberMax;
    sums[named ? static_cast<size_t>(symbol) : kOther] += counts_[static_cast<size_t>(place)];
  }
  return sums;
}

double NumberCounts::BitsWith(const SymbolTable& table) const {
  const SymbolSums sums = SymbolCounts(table.shift);
  double bits = static_cast<double>(total_) * table.shift;
  for (size_t i = 0; i < sums.size(); ++i) {
    if (sums[i] == 0) {
      continue;
    }
    const bool written_out = i == kOther || table.shares[i] == 0;
    const double share = table.shares[written_out ? kOther : i];
    bits += static_cast<double>(sums[i]) *
            (std::log2(SymbolTable::kTotal / share) + (written_out ? kOtherBits : 0));
  }
  return bits;
}

SymbolTable NumberCounts::Fitted(SymbolTable table) const {
  double least = std::numeric_limits<double>::infinity();
  SymbolTable best = table;
  for (uint8_t shift = 0; shift <= SymbolTable::kShiftMax; ++shift) {
    table.shift = shift;
    table.shares = SharesOf(SymbolCounts(shift));
    const double bits = BitsWith(table);
    if (bits < least) {
      least = bits;
      best = table;
    }
  }
  return best;
}

}  // namespace kvcast
