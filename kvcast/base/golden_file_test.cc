#include "kvcast/base/golden_file.h"

#include <gtest/gtest.h>

namespace kvcast {
namespace {

Result<GoldenFile> WithCases(std::string_view cases) {
  return GoldenFile::Parse(R"({"format": "kvcast-vectors/1", "topic": "t", "cases": )" +
                           std::string(cases) + "}");
}

TEST(GoldenFile, HoldsWhatMustComeOutOrBeRefused) {
  const Result<GoldenFile> file = WithCases(
      R"([{"name": "a", "in": {"x": 1}, "out": {"y": 2}},
          {"name": "b", "in": {}, "error": true, "at": 3}])");
  ASSERT_TRUE(file.ok());
  EXPECT_EQ(file->topic, "t");
  EXPECT_EQ((*file->cases[0].out)["y"], 2);
  EXPECT_FALSE(file->cases[1].out.has_value());
  EXPECT_EQ(file->cases[1].refused_at, 3u);
}

// A case that says neither, or both, would test nothing.
TEST(GoldenFile, RefusesCasesThatCannotFail) {
  EXPECT_FALSE(WithCases(R"([{"name": "a", "in": {}}])").ok());
  EXPECT_FALSE(WithCases(R"([{"name": "a", "in": {}, "out": {}, "error": true}])").ok());
  EXPECT_FALSE(WithCases(R"([{"name": "a", "in": 1, "out": {}}])").ok());
  EXPECT_FALSE(WithCases(R"([{"in": {}, "out": {}}])").ok());
  EXPECT_FALSE(
      WithCases(R"([{"name": "a", "in": {}, "out": {}}, {"name": "a", "in": {}, "out": {}}])")
          .ok());
  EXPECT_FALSE(WithCases("7").ok());
  EXPECT_FALSE(GoldenFile::Parse("[]").ok());
  EXPECT_FALSE(GoldenFile::Parse(R"({"format": "other", "topic": "t", "cases": []})").ok());
}

TEST(GoldenFile, PointsAtTheMemberThatIsWrong) {
  EXPECT_EQ(GoldenFile::Parse(" 7").error().offset(), 1u);
  EXPECT_EQ(GoldenFile::Parse(R"({"format": "other"})").error().offset(), 1u);
  const size_t cases = *WithCases("").error().offset();  // Where they should begin.
  EXPECT_EQ(WithCases("7").error().offset(), cases - 9);
  EXPECT_EQ(WithCases(R"([{"name": "a", "in": 1}])").error().offset(), cases + 15);
  EXPECT_EQ(WithCases(R"([{"name": "a", "in": {}, "out": {}}, 7])").error().offset(), cases + 37);
}

}  // namespace
}  // namespace kvcast
