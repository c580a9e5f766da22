#include "kvcast/host/tap_report.h"

#include <gtest/gtest.h>

namespace kvcast {
namespace {

TEST(TapReport, AWholeRun) {
  EXPECT_EQ(tap::Head({"a client", "Relay: moqt://a:1"}, 3),
            "TAP version 14\n# a client\n# Relay: moqt://a:1\n1..3\n");
  EXPECT_EQ(tap::Point(1, true, "setup-only", {}), "ok 1 - setup-only\n");
  EXPECT_EQ(
      tap::Point(2, false, "announce-only", {{"duration_ms", "2001"}, {"received", "timeout"}}),
      "not ok 2 - announce-only\n  ---\n  duration_ms: 2001\n  received: timeout\n  ...\n");
  EXPECT_EQ(tap::Skipped(3, "other", "not implemented"), "ok 3 - other # SKIP not implemented\n");
}

// A relay chooses its words; they must not read as results.
TEST(TapReport, WhatARelaySaysStaysInItsLine) {
  EXPECT_EQ(tap::Point(1, false, "a", {{"message", "x\nok 2 - \"b\" \\ # SKIP"}}),
            "not ok 1 - a\n  ---\n  message: \"x\\\\x0aok 2 - \\\"b\\\" \\\\x5c # SKIP\"\n  ...\n");
  EXPECT_EQ(tap::Skipped(1, "a # x", "b # c\nd"), "ok 1 - a   x # SKIP b   c\\x0ad\n");
  EXPECT_EQ(tap::Point(1, true, "a", {{"k", "-"}, {"l", ""}}),
            "ok 1 - a\n  ---\n  k: \"-\"\n  l: \"\"\n  ...\n");
}

}  // namespace
}  // namespace kvcast
