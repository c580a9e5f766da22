#include "kvcast/io/terminal_log.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

namespace kvcast {
namespace {

TEST(TerminalLog, WritesALineWithTheTimeInFront) {
  testing::internal::CaptureStderr();
  TerminalLog sink;
  Log(&sink, "store").Warning("segment dropped", {{"bytes", 4096}});
  std::string line = testing::internal::GetCapturedStderr();
  std::replace_if(
      line.begin(), line.begin() + static_cast<ptrdiff_t>(line.find(" level")),
      [](char c) { return c >= '0' && c <= '9'; }, 'd');
  EXPECT_EQ(line,
            "time=dddd-dd-ddTdd:dd:dd.dddZ level=warning module=store event=\"segment dropped\" "
            "bytes=4096\n");
}

// What a peer sent is never read as a format.
TEST(TerminalLog, WritesBracesAsTheyAre) {
  testing::internal::CaptureStderr();
  TerminalLog sink;
  Log(&sink, "moqt").Info("refused", {{"reason", "{} %v {0}"}});
  EXPECT_NE(testing::internal::GetCapturedStderr().find("reason=\"{} %v {0}\""), std::string::npos);
}

TEST(TerminalLog, LeavesOutWhatIsNotWorthIt) {
  testing::internal::CaptureStderr();
  TerminalLog sink(LogLevel::kWarning);
  Log(&sink, "io").Info("quiet");
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

}  // namespace
}  // namespace kvcast
