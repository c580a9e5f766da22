#include "kvcast/kv/input_list.h"

#include <gtest/gtest.h>

namespace kvcast {
namespace {

ForeignInput InputAt(uint64_t position, std::string_view content) {
  return {position, Sha256::Of(content)};
}

TEST(InputList, IsWrittenInOneWay) {
  const std::vector<ForeignInput> inputs = {InputAt(17, "a dog"), InputAt(3, "a cat")};
  const std::string cat = "3=" + Sha256::Of("a cat").ToHex();
  const std::string dog = "17=" + Sha256::Of("a dog").ToHex();
  EXPECT_EQ(TextOf(inputs, 18), cat + " " + dog);
  EXPECT_EQ(TextOf(inputs, 17), cat);
  EXPECT_EQ(TextOf(inputs, 0), "");
  const auto read = ParseInputList(cat + " " + dog, 18);
  ASSERT_TRUE(read);
  EXPECT_EQ(TextOf(*read, 18), cat + " " + dog);
  EXPECT_TRUE(ParseInputList("", 1));
}

TEST(InputList, IsNoneInAnyOther) {
  const std::string cat = Sha256::Of("a cat").ToHex();
  std::string upper = cat;
  upper[upper.find_first_of("abcdef")] -= 'a' - 'A';
  for (const std::string& text : std::vector<std::string>{
           " ", "3", "3=", "=" + cat, "3=" + cat + " ", " 3=" + cat, "03=" + cat, "3=" + upper,
           "3=" + cat + "  4=" + cat, "4=" + cat + " 3=" + cat, "3=" + cat + " 3=" + cat,
           "8=" + cat,  // Behind the last of eight tokens.
           "3=" + cat + "0", "-3=" + cat, "18446744073709551616=" + cat}) {
    EXPECT_FALSE(ParseInputList(text, 8)) << text;
  }
}

TEST(InputList, IsSharedUpToTheFirstInputThatDiffers) {
  const std::vector<ForeignInput> one = {InputAt(3, "a cat"), InputAt(9, "a dog")};
  const std::vector<ForeignInput> other = {InputAt(3, "a cat"), InputAt(9, "a wolf")};
  const std::vector<ForeignInput> moved = {InputAt(2, "a cat"), InputAt(9, "a dog")};
  EXPECT_EQ(SharedTokens(one, one, 20), 20u);
  EXPECT_EQ(SharedTokens(one, other, 20), 9u);
  EXPECT_EQ(SharedTokens(one, other, 5), 5u);
  EXPECT_EQ(SharedTokens(one, moved, 20), 2u);
  EXPECT_EQ(SharedTokens({}, one, 20), 3u);
  EXPECT_EQ(SharedTokens(one, {}, 20), 3u);
}

}  // namespace
}  // namespace kvcast
