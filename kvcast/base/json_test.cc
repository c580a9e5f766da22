#include "kvcast/base/json.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace kvcast {
namespace {

TEST(ParseJson, ReadsJson) {
  const Result<Json> json = ParseJson(R"({"layers": 6, "names": ["k", "v"]})");
  ASSERT_TRUE(json.ok());
  EXPECT_EQ((*json)["names"][1], "v");
  EXPECT_EQ(**JsonCount(*json, "layers"), 6u);
}

TEST(ParseJson, SaysWhereItStopsBeingJson) {
  EXPECT_EQ(ParseJson("{\"a\": x}").error().offset(), 6u);
  EXPECT_EQ(ParseJson("[1] 2").error().offset(), 4u);
  EXPECT_FALSE(ParseJson("").ok());
  EXPECT_FALSE(ParseJson("\"\xff\"").ok());
  EXPECT_FALSE(ParseJson("1e999").ok());
  EXPECT_FALSE(ParseJson("\xef\xbb\xbf[]").ok());
  EXPECT_EQ(ParseJson(std::string_view("[]\0x", 4)).error().offset(), 2u);
}

TEST(ParseJson, PointsAtTheKeyOrNumberItRefuses) {
  EXPECT_EQ(ParseJson(R"({"a": 1, "a": 2})").error().offset(), 9u);
  EXPECT_EQ(ParseJson(R"({"\"\\": 1, "\"\\": 2})").error().offset(), 12u);
  EXPECT_EQ(ParseJson("[1, -1e999 ]").error().offset(), 4u);
  EXPECT_EQ(ParseJson("[1, 1e999]").error().offset(), 4u);
  EXPECT_EQ(ParseJson("1e999").error().offset(), 0u);
  EXPECT_EQ(ParseJson("[[[[]]]]", {.depth_max = 3}).error().offset(), 3u);
}

// Two readers of the same file must not be able to believe two different things.
TEST(ParseJson, RefusesAKeyThatStandsTwice) {
  EXPECT_FALSE(ParseJson(R"({"a": 1, "a": 2})").ok());
  EXPECT_TRUE(ParseJson(R"([{"a": 1}, {"a": 2}])").ok());
  EXPECT_TRUE(ParseJson(R"({"a": {"a": 1}})").ok());
}

TEST(ParseJson, IsBoundedInBytesAndDepth) {
  const auto nested = [](size_t depth) {
    return std::string(depth, '[') + std::string(depth, ']');
  };
  EXPECT_TRUE(ParseJson(nested(32)).ok());
  EXPECT_EQ(ParseJson(nested(33)).error().code(), ErrorCode::kTooLarge);
  EXPECT_EQ(ParseJson(std::string(1000000, '[')).error().code(), ErrorCode::kTooLarge);
  EXPECT_EQ(ParseJson("[1,2,3]", {.bytes_max = 6}).error().code(), ErrorCode::kTooLarge);
}

TEST(ParseJson, IsBoundedInValues) {
  EXPECT_TRUE(ParseJson(R"([1, {"a": []}])", {.values_max = 4}).ok());
  const Error error = ParseJson(R"([1, {"a": []}])", {.values_max = 3}).error();
  EXPECT_EQ(error.code(), ErrorCode::kTooLarge);
  EXPECT_EQ(error.offset(), 10u);
}

// Work that grows with the square of the text would run into the test's own time limit.
TEST(ParseJson, TakesManySmallValuesInItsStride) {
  std::string text = "[{}";
  for (int i = 0; i < 500'000; ++i) {
    text += ",{}";
  }
  EXPECT_EQ(ParseJson(text + "]")->size(), 500'001u);
}

TEST(JsonCount, TakesOnlyWholeNumbersThatAreNotNegative) {
  const Json json =
      *ParseJson(R"({"a": 3, "b": -3, "c": 3.0, "d": "3", "e": null, "g": 3.5, "z": -0})");
  EXPECT_EQ(**JsonCount(json, "a"), 3u);
  EXPECT_FALSE(JsonCount(json, "b").ok());
  EXPECT_EQ(**JsonCount(json, "c"), 3u);
  EXPECT_FALSE(JsonCount(json, "d").ok());
  EXPECT_EQ(**JsonCount(json, "z"), 0u);
  EXPECT_FALSE(JsonCount(json, "g").ok());
  EXPECT_FALSE(JsonCount(json, "e")->has_value());
  EXPECT_FALSE(JsonCount(json, "f")->has_value());
}

}  // namespace
}  // namespace kvcast
