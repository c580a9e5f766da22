#include "kvcast/object/properties.h"

#include <gtest/gtest.h>

#include "kvcast/base/bytes.h"
#include "kvcast/base/hex.h"

namespace kvcast {
namespace {

std::string FromHexText(std::string_view hex) { return std::string(AsText(*FromHex(hex))); }

TEST(Properties, AreWrittenByRisingTypeWithDeltas) {
  const Properties properties =
      PropertiesBuilder().Bytes(0x3801, "key").Number(property::kPriorObjectIdGap, 5).Build();
  // 3e 05 | delta 0x37c3 = b7c3, 03 "key"
  EXPECT_EQ(ToHex(AsBytes(properties.encoded())), "3e05b7c3036b6579");
  EXPECT_EQ(properties.Find(0x3801)->bytes, "key");
  EXPECT_EQ(properties.Find(0x3e)->number, 5u);
  EXPECT_FALSE(properties.Find(0x40).has_value());
}

TEST(Properties, AreFoundAmongTheImmutableOnesToo) {
  const Properties inner = PropertiesBuilder().Bytes(0x3801, "key").Build();
  const Properties properties = PropertiesBuilder().Number(2, 9).Immutable(inner).Build();
  EXPECT_EQ(properties.Immutable(), inner);
  EXPECT_EQ(properties.Find(0x3801)->bytes, "key");
}

// A number written longer than needed is legal, and passing it on must not shorten it.
TEST(Properties, KeepTheBytesTheyCameIn) {
  const std::string longer = FromHexText("028005");
  const Result<Properties> properties = Properties::Parse(longer);
  ASSERT_TRUE(properties.ok());
  EXPECT_EQ(properties->encoded(), longer);
  EXPECT_EQ(properties->Find(2)->number, 5u);
}

TEST(Properties, AllowATypeMoreThanOnce) {
  const Properties twice = PropertiesBuilder().Number(2, 1).Number(2, 7).Build();
  EXPECT_EQ(twice.List().size(), 2u);
  EXPECT_EQ(twice.Find(2)->number, 1u);
}

TEST(Properties, RefuseWhatTheDraftCallsMalformed) {
  const struct {
    const char* hex;
    size_t offset;
  } cases[] = {
      {"02", 1},                      // No value.
      {"03", 1},                      // No length.
      {"030561", 2},                  // Fewer bytes than claimed.
      {"03c1000061", 1},              // 65,536 bytes claimed.
      {"0201ffffffffffffffffff", 2},  // A type past 2^64.
      {"0b000000", 2},                // Immutable properties twice.
      {"0b020b00", 2},                // Immutable properties within themselves.
      {"0b0102", 3},                  // An inner property without a value.
  };
  for (const auto& [hex, offset] : cases) {
    const Result<Properties> parsed = Properties::Parse(FromHexText(hex));
    ASSERT_FALSE(parsed.ok()) << hex;
    EXPECT_EQ(parsed.error().offset(), offset) << hex;
  }
}

}  // namespace
}  // namespace kvcast
