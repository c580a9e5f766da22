#include "kvcast/base/vi64.h"

#include <gtest/gtest.h>

#include <array>
#include <string>
#include <utility>

#include "kvcast/base/hex.h"

namespace kvcast {
namespace {

std::string Written(uint64_t value) {
  std::array<std::byte, kVi64BytesMax> buffer{};
  const size_t size = WriteVi64(value, buffer);
  return ToHex(std::span(buffer).first(size));
}

// The draft's own examples. Reading back what we wrote would pass with QUIC's integers too.
TEST(Vi64, ReadsTheExamplesOfTheDraft) {
  const std::pair<const char*, uint64_t> examples[] = {
      {"25", 37},
      {"8025", 37},
      {"bbbd", 15293},
      {"ed7f3e7d", 226442877},
      {"faa1a0e403d8", 2893212287960},
      {"fc8998abc66bc0", 151288809941952},
      {"fefa318fa8e3ca11", 70423237261249041},
      {"ffffffffffffffffff", 18446744073709551615u}};
  for (const auto& [hex, value] : examples) {
    EXPECT_EQ(ReadVi64(*FromHex(hex)), value);
  }
}

TEST(Vi64, WritesTheShortestForm) {
  EXPECT_EQ(Written(0), "00");
  EXPECT_EQ(Written(37), "25");
  EXPECT_EQ(Written(127), "7f");
  EXPECT_EQ(Written(128), "8080");
  EXPECT_EQ(Written(16383), "bfff");
  EXPECT_EQ(Written(16384), "c04000");
  EXPECT_EQ(Written((uint64_t{1} << 56) - 1), "feffffffffffffff");
  EXPECT_EQ(Written(uint64_t{1} << 56), "ff0100000000000000");
  EXPECT_EQ(Written(~uint64_t{0}), "ffffffffffffffffff");
}

TEST(Vi64, RoundTripsAroundEveryPowerOfTwo) {
  for (int bit = 0; bit < 64; ++bit) {
    for (const uint64_t value :
         {(uint64_t{1} << bit) - 1, uint64_t{1} << bit, (uint64_t{1} << bit) + 1}) {
      const std::string hex = Written(value);
      EXPECT_EQ(ReadVi64(*FromHex(hex)), value);
      EXPECT_EQ(hex.size(), Vi64Size(value) * 2);
      EXPECT_EQ(Vi64SizeFrom((*FromHex(hex))[0]), Vi64Size(value));
    }
  }
}

}  // namespace
}  // namespace kvcast
