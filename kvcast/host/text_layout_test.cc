#include "kvcast/host/text_layout.h"

#include <gtest/gtest.h>

namespace kvcast {
namespace {

TEST(Wrapped, BreaksBetweenWords) {
  EXPECT_EQ(Wrapped("one two three four", 0, 9), "one two\nthree\nfour");
  EXPECT_EQ(Wrapped("one two", 0, 7), "one two");
  EXPECT_EQ(Wrapped("", 4, 10), "");
}

TEST(Wrapped, IndentsEveryLineButTheFirst) {
  EXPECT_EQ(Wrapped("one two three", 2, 9), "one two\n  three");
}

// A command that a person copies must not be cut.
TEST(Wrapped, KeepsLongWordsWhole) {
  EXPECT_EQ(Wrapped("see net.core.rmem_max now", 0, 10), "see\nnet.core.rmem_max\nnow");
}

TEST(Wrapped, KeepsLineBreaks) { EXPECT_EQ(Wrapped("one\ntwo three", 1, 5), "one\n two\n three"); }

TEST(Padded, NeverCuts) {
  EXPECT_EQ(Padded("ab", 4), "ab  ");
  EXPECT_EQ(Padded("abcde", 4), "abcde");
}

TEST(HarmlessLines, KeepsItsLines) {
  EXPECT_EQ(HarmlessLines("a\x1b[31mred\nb\r\n"), "a\\x1b[31mred\nb\\x0d\n");
}

}  // namespace
}  // namespace kvcast
