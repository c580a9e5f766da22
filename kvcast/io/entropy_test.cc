#include "kvcast/io/entropy.h"

#include <gtest/gtest.h>

#include <array>

namespace kvcast {
namespace {

TEST(FillRandom, FillsEveryByteAnew) {
  std::array<std::byte, 64> first{};
  std::array<std::byte, 64> second{};
  FillRandom(first);
  FillRandom(second);
  EXPECT_NE(first, second);
  EXPECT_NE(first, (std::array<std::byte, 64>{}));
}

}  // namespace
}  // namespace kvcast
