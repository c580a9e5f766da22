#include "kvcast/base/json_place.h"

#include <gtest/gtest.h>

namespace kvcast {
namespace {

TEST(JsonPlace, IsWhereAMembersKeyBegins) {
  constexpr std::string_view kText =
      R"( {"a": "}]\",{", "b": [1, {"c": [], "d": null}, "x"], "\u0065": {"a": -1.5e3}} )";
  EXPECT_EQ(JsonPlace(kText, {}), 1u);
  EXPECT_EQ(JsonPlace(kText, {"a"}), kText.find("\"a\""));
  EXPECT_EQ(JsonPlace(kText, {"b"}), kText.find("\"b\""));
  EXPECT_EQ(JsonPlace(kText, {"b", "0"}), kText.find("1, {"));
  EXPECT_EQ(JsonPlace(kText, {"b", "1"}), kText.find("{\"c\""));
  EXPECT_EQ(JsonPlace(kText, {"b", "1", "d"}), kText.find("\"d\""));
  EXPECT_EQ(JsonPlace(kText, {"b", "2"}), kText.find("\"x\""));
  EXPECT_EQ(JsonPlace(kText, {"e"}), kText.find("\"\\u0065"));
  EXPECT_EQ(JsonPlace(kText, {"e", "a"}), kText.rfind("\"a\""));
}

TEST(JsonPlace, OfWhatIsMissingIsWhereItShouldBe) {
  constexpr std::string_view kText = R"({"a": {"b": [0]}, "c": 7})";
  EXPECT_EQ(JsonPlace(kText, {"x"}), 0u);
  EXPECT_EQ(JsonPlace(kText, {"a", "x", "y"}), 1u);
  EXPECT_EQ(JsonPlace(kText, {"a", "b", "1"}), 7u);
  EXPECT_EQ(JsonPlace(kText, {"c", "x"}), 18u);
  EXPECT_EQ(JsonPlace("[]", {"0"}), 0u);
  EXPECT_EQ(JsonPlace("{}", {"0"}), 0u);
}

// Nobody should ask, but it must not run away with them.
TEST(JsonPlace, StaysWithinATextThatIsNotJson) {
  for (const std::string_view text : {"", " ", "{", "[", "{\"", "{\"a", "{\"a\\", "{\"a\":", "[1,",
                                      "{\"a\":[{", "]", "{\"a\" \"b\"", "[,,]", "[}", "{\"a\":}"}) {
    EXPECT_LE(JsonPlace(text, {"b", "1"}), text.size()) << text;
    EXPECT_LE(JsonPlace(text, {"1", "b"}), text.size()) << text;
  }
}

}  // namespace
}  // namespace kvcast
