#include "kvcast/codec/rans.h"

#include <gtest/gtest.h>

#include <bit>

#include "kvcast/base/random.h"
#include "kvcast/codec/kernels.h"
#include "kvcast/codec/survey.h"

namespace kvcast {
namespace {

struct Stream {
  std::vector<std::vector<uint8_t>> units;
  std::vector<RansTable> tables;
  std::vector<std::byte> bytes;
  std::vector<std::byte> others;
  RansStates states;

  // Units of these sizes, their exponents around different middles.
  Stream(std::span<const size_t> sizes, uint64_t seed) {
    Random random(seed);
    for (const size_t size : sizes) {
      std::array<uint64_t, 256> counts{};
      std::vector<uint8_t> unit(size);
      const uint64_t middle = 20 + random.Below(200);
      for (uint8_t& exponent : unit) {
        const int below = std::countr_zero(random.Next() | uint64_t{1} << 40);
        exponent =
            static_cast<uint8_t>(middle + random.Below(3) - static_cast<uint64_t>(below) % 20);
        if (random.Happens(0.02)) {
          exponent = static_cast<uint8_t>(random.Next());  // More kinds than a table names.
        }
        ++counts[exponent];
      }
      units.push_back(std::move(unit));
      tables.emplace_back(TableOf(counts));
    }
    bytes = WrittenBy(ScalarKernels(), states);
    for (size_t i = 0; i < units.size(); ++i) {
      for (const uint8_t exponent : units[i]) {
        if (tables[i].symbol_of_value[exponent] == kOtherSymbol) {
          others.push_back(static_cast<std::byte>(exponent));
        }
      }
    }
  }
  // The stream that a kernel makes of the units, and the states it ends with.
  std::vector<std::byte> WrittenBy(const Kernels& kernels, RansStates& ended) const {
    size_t symbols = RansWriter::kSlack;
    for (const std::vector<uint8_t>& unit : units) {
      symbols += unit.size();
    }
    std::vector<std::byte> room(symbols);
    RansWriter writer(room);
    for (size_t i = units.size(); i-- > 0;) {
      std::vector<uint8_t> named(units[i].size());
      kernels.coder->name_values(tables[i], units[i], named.data());
      kernels.coder->write_symbols(writer, tables[i], named);
    }
    ended = writer.states;
    return {writer.begin, writer.end};
  }
  RansReader Reader() const {
    RansReader reader;
    reader.states = states;
    reader.bytes = bytes;
    reader.others = others;
    return reader;
  }
};

TEST(Rans, ReadsWhatWasWrittenWithEveryKernel) {
  const size_t sizes[] = {64, 1024, 1, 63, 65, 576, 640, 4096, 37, 128};
  const Stream stream(sizes, 3);
  ASSERT_FALSE(stream.others.empty());
  for (const Kernels* kernels : UsableKernels()) {
    RansReader reader = stream.Reader();
    for (size_t i = 0; i < stream.units.size(); ++i) {
      std::vector<uint8_t> unit(stream.units[i].size());
      ASSERT_TRUE(kernels->coder->read_values(reader, stream.tables[i], unit)) << kernels->name;
      ASSERT_EQ(unit, stream.units[i]) << kernels->name << " " << i;
    }
    EXPECT_TRUE(reader.IsAtEnd()) << kernels->name;
  }
}

TEST(Rans, EveryKernelWritesTheSame) {
  const size_t sizes[] = {64, 1000, 1, 63, 65, 4096, 37, 128, 33};
  for (uint64_t seed = 1; seed <= 8; ++seed) {
    const Stream stream(sizes, seed);
    for (const Kernels* kernels : UsableKernels()) {
      RansStates states;
      ASSERT_EQ(stream.WrittenBy(*kernels, states), stream.bytes) << kernels->name;
      EXPECT_EQ(states.upper, stream.states.upper) << kernels->name;
      EXPECT_EQ(states.low, stream.states.low) << kernels->name;
    }
  }
}

// Lanes divide by multiplying, and may have to take one more: whatever a state can be, and whatever
// the share.
TEST(Rans, DividesByEveryShare) {
  for (uint32_t share = 1; share < ExponentTable::kTotal; ++share) {
    std::array<uint8_t, ExponentTable::kNamed> values{};
    for (size_t i = 0; i < values.size(); ++i) {
      values[i] = static_cast<uint8_t>(i);
    }
    std::array<uint8_t, ExponentTable::kSymbols> shares{};
    shares[0] = static_cast<uint8_t>(share);
    shares[kOtherSymbol] = static_cast<uint8_t>(ExponentTable::kTotal - share);
    const RansTable table(values, shares);
    const uint32_t factor = table.factor_low[0] | uint32_t{table.factor_high[0]} << 8;
    for (uint32_t n = 0; n < 256 * share; ++n) {
      const uint32_t quotient = n * factor >> 16;
      ASSERT_LE(quotient, n / share) << n << " / " << share;
      ASSERT_LE(n / share, quotient + 1) << n << " / " << share;
    }
  }
}

TEST(Rans, NeverReadsPastAStreamThatIsTooShort) {
  const size_t sizes[] = {512, 512};
  const Stream stream(sizes, 4);
  for (const Kernels* kernels : UsableKernels()) {
    for (size_t size = 0; size < stream.bytes.size(); ++size) {
      const std::vector<std::byte> shorter(
          stream.bytes.begin(), stream.bytes.begin() + static_cast<std::ptrdiff_t>(size));
      RansReader reader = stream.Reader();
      reader.bytes = shorter;
      std::vector<uint8_t> unit(512);
      EXPECT_FALSE(kernels->coder->read_values(reader, stream.tables[0], unit) &&
                   kernels->coder->read_values(reader, stream.tables[1], unit))
          << kernels->name << " " << size;
    }
    RansReader reader = stream.Reader();
    reader.others = {};
    std::vector<uint8_t> unit(512);
    EXPECT_EQ(kernels->coder->read_values(reader, stream.tables[0], unit) &&
                  kernels->coder->read_values(reader, stream.tables[1], unit),
              stream.others.empty());
  }
}

}  // namespace
}  // namespace kvcast
