#include "kvcast/kv/token_list.h"

#include <gtest/gtest.h>

namespace kvcast {
namespace {

TEST(TokenList, TakesWhatTokenizersPrint) {
  const std::vector<Token> expected = {1, 22, 4294967295};
  for (const char* text :
       {"1 22 4294967295", "1,22,4294967295", "[1, 22, 4294967295]", "\n 1\n22\r\n4294967295\n",
        " [ 1 22,4294967295 ] ", "1,\n22 ,\n4294967295,\n"}) {
    EXPECT_EQ(*ParseTokenList(text), expected) << text;
  }
  EXPECT_TRUE(ParseTokenList("")->empty());
  EXPECT_TRUE(ParseTokenList("[]")->empty());
}

TEST(TokenList, SaysWhereItStopsBeingOne) {
  EXPECT_EQ(ParseTokenList("1 2 x").error().offset(), 4u);
  EXPECT_EQ(ParseTokenList("1 2.5").error().offset(), 2u);
  for (const char* text :
       {"-1", "4294967296", "0x10", "[1, 2", "1]", "[1] 2", "1e3", "hello", "1,,2", ",1", "[,]"}) {
    EXPECT_FALSE(ParseTokenList(text).ok()) << text;
  }
}

}  // namespace
}  // namespace kvcast
