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
  std::vector<std::byte> words;
  std::vector<std::byte> others;
  std::array<uint32_t, kRansStates> states{};

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
    RansWriter writer;
    for (size_t i = units.size(); i-- > 0;) {
      writer.WriteUnit(tables[i], units[i]);
    }
    for (size_t i = writer.words().size(); i-- > 0;) {
      words.push_back(static_cast<std::byte>(writer.words()[i]));
      words.push_back(static_cast<std::byte>(writer.words()[i] >> 8));
    }
    for (size_t i = 0; i < units.size(); ++i) {
      for (const uint8_t exponent : units[i]) {
        if (tables[i].symbol_of_exponent[exponent] == kOtherSymbol) {
          others.push_back(static_cast<std::byte>(exponent));
        }
      }
    }
    states = writer.states();
  }
  RansReader Reader() const {
    RansReader reader;
    reader.states = states;
    reader.words = words;
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
      ASSERT_TRUE(kernels->read_exponents(reader, stream.tables[i], unit)) << kernels->name;
      ASSERT_EQ(unit, stream.units[i]) << kernels->name << " " << i;
    }
    EXPECT_TRUE(reader.IsAtEnd()) << kernels->name;
  }
}

TEST(Rans, NeverReadsPastAStreamThatIsTooShort) {
  const size_t sizes[] = {512, 512};
  const Stream stream(sizes, 4);
  for (const Kernels* kernels : UsableKernels()) {
    for (size_t words = 0; words < stream.words.size(); words += 2) {
      const std::vector<std::byte> shorter(
          stream.words.begin(), stream.words.begin() + static_cast<std::ptrdiff_t>(words));
      RansReader reader = stream.Reader();
      reader.words = shorter;
      std::vector<uint8_t> unit(512);
      EXPECT_FALSE(kernels->read_exponents(reader, stream.tables[0], unit) &&
                   kernels->read_exponents(reader, stream.tables[1], unit))
          << kernels->name << " " << words;
    }
    RansReader reader = stream.Reader();
    reader.others = {};
    std::vector<uint8_t> unit(512);
    EXPECT_EQ(kernels->read_exponents(reader, stream.tables[0], unit) &&
                  kernels->read_exponents(reader, stream.tables[1], unit),
              stream.others.empty());
  }
}

}  // namespace
}  // namespace kvcast
