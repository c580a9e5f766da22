#include "kvcast/io/terminal_log.h"

#include <gtest/gtest.h>

#include <regex>
#include <string>

namespace kvcast {
namespace {

TEST(TerminalLog, WritesALineWithTheTimeInFront) {
  testing::internal::CaptureStderr();
  TerminalLog sink;
  Log(&sink, "store").Warning("segment dropped", {{"bytes", 4096}});
  const std::string line = testing::internal::GetCapturedStderr();
  EXPECT_TRUE(std::regex_match(
      line, std::regex(R"(time=\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z level=warning module=store )"
                       R"(event="segment dropped" bytes=4096\n)")))
      << line;
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
