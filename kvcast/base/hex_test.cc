#include "kvcast/base/hex.h"

#include <gtest/gtest.h>

namespace kvcast {
namespace {

TEST(Hex, WritesTwoLowerCaseDigitsAByteAndReadsBothCases) {
  const std::byte bytes[] = {std::byte{0x00}, std::byte{0xaf}, std::byte{0x10}};
  EXPECT_EQ(ToHex(bytes), "00af10");
  EXPECT_EQ(ToHex(*FromHex("00AF10")), "00af10");
}

TEST(Hex, SaysWhereTheTroubleBegins) {
  EXPECT_EQ(FromHex("00zz").error().offset(), 2u);
  EXPECT_EQ(FromHex("000").error().offset(), 2u);
}

// A name from a peer must not be able to write escape sequences into an operator's terminal.
TEST(Printable, EscapesWhatATerminalWouldObey) {
  EXPECT_EQ(Printable("tab\tesc\x1b[2J\\"), "tab\\x09esc\\x1b[2J\\x5c");
  EXPECT_EQ(Printable("abcdef", 3), "abc...");
}

TEST(Harmless, LeavesATerminalAsItWas) {
  EXPECT_EQ(Harmless("a\x1b[31mred"), "a\\x1b[31mred");
  EXPECT_EQ(Harmless("two\nlines, ünïcode \\"), "two\\x0alines, ünïcode \\");
  EXPECT_EQ(Harmless("\x7f\r"), "\\x7f\\x0d");
}

TEST(Harmless, KnowsTheSecondSetOfControls) {
  EXPECT_EQ(Harmless("\xc2\x9b"
                     "2J \xc2\x80\xc2\xa0"),
            "\\xc2\\x9b"
            "2J \\xc2\\x80\xc2\xa0");
  EXPECT_EQ(Harmless("\xc3\x9b \xc2"), "\xc3\x9b \xc2");
}

}  // namespace
}  // namespace kvcast
